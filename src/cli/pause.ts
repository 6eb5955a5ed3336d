/**
 * `hermes pause`: through the daemon, or in the file that it reads at its start.
 */
import { callRoute } from '../api/client.ts'
import { pauseAgent } from '../api/routes/operation.ts'
import { readPause, writePause } from '../sessions/pause-file.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { readSettings } from './kit/settings.ts'

/** `off` ends the pause; everything else is the reason. */
export async function pause(context: CliContext, words: readonly string[]): Promise<void> {
  const { home, output } = context
  const reason = words.join(' ').trim()
  const isOff = reason.toLowerCase() === 'off'
  const { token } = await readSettings(context)
  const daemon = await findRunningDaemon({ home, token })
  if (daemon !== undefined) await callRoute(daemon, pauseAgent, { body: isOff ? { off: true } : { reason } })
  else if (isOff) writePause(home.pauseFile, null)
  else writePause(home.pauseFile, { since: readPause(home.pauseFile)?.since ?? Date.now(), reason })
  output.write(isOff ? 'The agent works again.\n' : 'The agent is paused until `hermes pause off`. Messages wait.\n')
}
