# The account's own home, whatever its environment says.
HOME=$(getent passwd "$(id -un)" 2>/dev/null | cut -d: -f6)
HOME=${HOME:-/}
export HOME

# at_home PATH: the path, with the home for `~` at its beginning.
at_home() {
    case $1 in
    '~') printf '%s' "$HOME" ;;
    '~/'*) printf '%s/%s' "$HOME" "${1#??}" ;;
    *) printf '%s' "$1" ;;
    esac
}
