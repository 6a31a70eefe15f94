# Who runs this and where its home is, as the system has it, whatever the environment says.
known=
know_account() {
    USER=$(id -un)
    entry=$(getent passwd "$USER" 2>/dev/null)
    SHELL=${entry##*:}
    HOME=${entry%:*}
    HOME=${HOME##*:}
    SHELL=${SHELL:-/bin/sh}
    HOME=${HOME:-/}
    known=yes
}

# at_home PATH: the path, with the home for `~` at its beginning, in `place`.
at_home() {
    place=$1
    case $1 in
    '~' | '~/'*)
        [ -n "$known" ] || know_account
        place=$HOME${1#?}
        ;;
    esac
}
