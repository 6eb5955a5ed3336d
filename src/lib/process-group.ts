/**
 * Ending a program together with everything it started: signals go to its process group.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { systemCode } from './errors.ts'

/** How often a group that was asked to end is looked at. */
const pollIntervalMs = 20

/** Sends a signal to the group; false when the group is gone. Throws what is neither. */
export function signalProcessGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ESRCH') return false
    // A member that became another user's may not be signalled, and macOS says so for a group of zombies.
    if (code === 'EPERM') return signal === 0
    throw error
  }
}

/**
 * Asks the group to end, waits at most `graceMs`, then ends it by force. Resolves when the group is gone or SIGKILL is
 * on its way: a zombie that nobody collects would keep the group's id for ever, so its end is not awaited.
 */
export async function terminateProcessGroup(pid: number, graceMs: number): Promise<void> {
  if (!signalProcessGroup(pid, 'SIGTERM')) return
  const lastLook = performance.now() + graceMs
  while (performance.now() < lastLook) {
    await wait(pollIntervalMs)
    if (!signalProcessGroup(pid, 0)) return
  }
  signalProcessGroup(pid, 'SIGKILL')
}
