/**
 * Kills a host when the gateway exits. A host whose handler runs in an endless loop cannot notice that its pipe has closed, so
 * a separate process waits for the exit of the gateway.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'

/** A shell that needs 0.2 MB. A direct child of the gateway, so that it is reaped even if the gateway is process 1. */
const waitThenKillScript = 'read -r _; kill -s KILL -- "-$0"'

/** Kills the process group when this process exits for any reason. Does nothing if no shell can be started. */
export function startParentDeathWatchdog(group: number) {
  const child: ChildProcess = spawn('/bin/sh', ['-c', waitThenKillScript, String(group)], {
    cwd: '/',
    env: {},
    // Outside the process group of the gateway, so that a signal from the terminal does not end the watchdog first.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without a shell the host still exits when its pipe closes, unless a handler blocks it.
  child.on('error', () => undefined)
  child.unref()
  const { stdin } = child
  if (stdin instanceof Socket) stdin.on('error', () => undefined).unref()
  return {
    /** Ends the watchdog, because the host has exited. May be called twice. */
    stop() {
      child.kill('SIGKILL')
      stdin?.destroy()
    },
  }
}
