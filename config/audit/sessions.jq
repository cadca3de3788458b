# The operator's execs into one pod ($namespace, $pod), oldest first, from the API server's
# audit log: jq -s --arg namespace N --arg pod P -f sessions.jq audit.log
# Whoever has the operator's token can send any User-Agent: an exec of its account without
# one of its own is shown as well, and is not the operator's. So nothing of a User-Agent
# takes the place of what the API server itself says; and since a client may choose the
# auditID, that alone does not make two entries one.
map(select(
  .objectRef.subresource == "exec" and .objectRef.namespace == $namespace and .objectRef.name == $pod
  and ((.user.username | endswith(":jmx-exporter-operator")) or (.userAgent // "" | startswith("jmx-exporter-operator/")))
)) | unique_by([.auditID, .requestReceivedTimestamp, .user.username, .userAgent, .requestURI]) | sort_by(.requestReceivedTimestamp)[] | {
  time: .requestReceivedTimestamp,
  operator: .user.username,
  container: ((.requestURI | capture("[?&]container=(?<c>[^&]*)").c) // null),
  code: .responseStatus.code
} + ((((.userAgent // "") | capture("\\((?<fields>[^()]*=[^()]*)\\)$").fields) | split("; ") | map(split("=") | {(.[0]): .[1:] | join("=")}) | add
  | with_entries(select(.key | IN("exporter", "requester", "verb")))) // {userAgent: .userAgent})
