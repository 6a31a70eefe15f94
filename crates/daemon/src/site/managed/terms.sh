# The terms of ownership that a site has seen: a folder in the spool, with a folder for each of them.
# A folder is there or not, so what is known only grows, however many look at it at the same moment.

# newest FOLDER: the latest term there, in `newest`; 0: none.
newest() {
    newest=0
    for term in "$1"/*; do
        term=${term##*/}
        case $term in *[!0-9]*) continue ;; esac
        [ "$term" -le "$newest" ] || newest=$term
    done
}

# admit FOLDER EPOCH: whether an order of this epoch may be carried out; an earlier one never again.
admit() {
    newest "$1"
    if [ "$newest" -lt "$2" ]; then
        (umask 077 && mkdir -p "$1/$2") || return
        newest "$1"
    fi
    [ "$newest" -le "$2" ] || {
        echo "tradewind-stale: the site knows epoch $newest, and this order is of epoch $2" >&2
        return 1
    }
}
