# gate.sh SPOOL FOLDER EPOCH COMMAND...: runs the command if no later term has been here. The command's
# variables stay as they are.
place=$(
    case $1 in
    *\{user\}*) at_home "${1%%\{user\}*}$(id -un)${1#*\{user\}}" ;;
    *) at_home "$1" ;;
    esac
    printf %s "$place"
)
admit "$place/$2" "$3" || exit 117
shift 3
exec "$@"
