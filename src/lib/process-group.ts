/**
 * Signals a process group: a program together with the processes that it started.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { systemCode } from './errors.ts'

/** Interval at which a group is checked after SIGTERM. */
const pollIntervalMs = 20

/** Sends a signal to the group. Returns false if the group no longer exists. Throws other errors of the system. */
export function signalProcessGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ESRCH') return false
    // A member runs as another user, or, on macOS, the group consists of zombies.
    if (code === 'EPERM') return signal === 0
    throw error
  }
}

/**
 * Sends SIGTERM, waits at most `graceMs` and then sends SIGKILL. Resolves when the group is gone or SIGKILL was sent: a
 * zombie that is not collected would keep the group id forever, so the exit after SIGKILL is not awaited.
 */
export async function terminateProcessGroup(pid: number, graceMs: number): Promise<void> {
  if (!signalProcessGroup(pid, 'SIGTERM')) return
  const deadline = performance.now() + graceMs
  while (performance.now() < deadline) {
    await wait(pollIntervalMs)
    if (!signalProcessGroup(pid, 0)) return
  }
  signalProcessGroup(pid, 'SIGKILL')
}
