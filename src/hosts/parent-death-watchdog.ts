/**
 * Sees to it that a host does not outlive the gateway, even when the gateway is killed while a handler spins: such a
 * host cannot notice that its pipe has closed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'

/** The shell that waits; 0.2 MB. A child of the gateway, so that it is collected as process 1, too. */
const waitThenKillScript = 'read -r _; kill -s KILL -- "-$0"'

export interface ParentDeathWatchdog {
  /** The host is gone: nobody is to be killed any more. May be called twice. */
  stop(): void
}

/** Kills the process group when this process ends in whatever way. Where no shell can be started it does nothing. */
export function startParentDeathWatchdog(group: number): ParentDeathWatchdog {
  const child: ChildProcess = spawn('/bin/sh', ['-c', waitThenKillScript, String(group)], {
    cwd: '/',
    env: {},
    // Out of our process group: what ends the gateway from a terminal must not end the watchman first.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // No shell: the host still ends by itself when its pipe closes, unless it is stuck at that moment.
  child.on('error', () => undefined)
  child.unref()
  const { stdin } = child
  if (stdin instanceof Socket) stdin.on('error', () => undefined).unref()
  return {
    stop() {
      child.kill('SIGKILL')
      stdin?.destroy()
    },
  }
}
