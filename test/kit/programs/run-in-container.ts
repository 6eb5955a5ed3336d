/**
 * Runs a command in a container, as a gateway does, until this process is killed.
 * Arguments: the request as JSON, the command.
 */
import { createDockerKind } from '../../../src/agent/environments/containers/docker.ts'
import { silentLog } from '../../../src/lib/log.ts'

const [request = '{}', command = ''] = process.argv.slice(2)
const environment = createDockerKind().create({ ...JSON.parse(request), log: silentLog })
await environment.execute(command, {
  timeoutMs: 600_000,
  signal: new AbortController().signal,
  maxOutputBytes: 1_000,
})
