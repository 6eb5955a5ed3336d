/**
 * Ending a host together with everything it started.
 */
import { systemCode } from '../lib/errors.ts'

/** Kills a process group by force. A group that is gone is no error; throws what else goes wrong. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    const code = systemCode(error)
    // EPERM: what is left of the group belongs to another user by its own doing, or (macOS) are only zombies.
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
