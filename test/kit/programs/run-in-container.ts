/**
 * Runs a command in a container, as a gateway does, until this process is killed.
 * Arguments: the request as JSON, the command.
 */
import { createDockerKind } from '../../../plugins/environments/docker/kind.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { openEnvironment, toRequest } from '../environment-kind.ts'

const [request = '{}', command = ''] = process.argv.slice(2)
const environment = openEnvironment(createDockerKind(), toRequest({ ...JSON.parse(request), log: silentLog }))
await environment.execute(command, {
  timeoutMs: 600_000,
  signal: new AbortController().signal,
  maxOutputBytes: 1_000,
})
