# The application with runtimes that lack a module that the agent needs, each.
FROM eclipse-temurin:17-jdk AS jdk
RUN jlink --add-modules java.management --output /jre/without-instrument
RUN jlink --add-modules java.instrument --output /jre/without-management
FROM dummyapp:17
COPY --from=jdk /jre /jre
