# The operator's execs into one pod ($namespace, $pod), oldest first, from the API server's
# audit log: jq -s --arg namespace N --arg pod P -f sessions.jq audit.log
# Whoever has the operator's token can send any User-Agent: an exec of its account without
# one of its own is shown as well, and is not the operator's.
map(select(
  .objectRef.subresource == "exec" and .objectRef.namespace == $namespace and .objectRef.name == $pod
  and ((.user.username | endswith(":jmx-exporter-operator")) or (.userAgent // "" | startswith("jmx-exporter-operator/")))
)) | unique_by(.auditID) | sort_by(.requestReceivedTimestamp)[] | {
  time: .requestReceivedTimestamp,
  operator: .user.username,
  container: ((.requestURI | capture("[?&]container=(?<c>[^&]*)").c) // null),
  code: .responseStatus.code
} + ((((.userAgent // "") | capture("\\((?<fields>[^()]*=[^()]*)\\)$").fields) | split("; ") | map(split("=") | {(.[0]): .[1:] | join("=")}) | add) // {userAgent: .userAgent})
