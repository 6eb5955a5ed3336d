/**
 * Ends a process group when this process has ended, also by SIGKILL: a shell waits for the end of a pipe whose other end only
 * this process holds.
 */
import { spawn } from 'node:child_process'

const script = 'read -r line; kill -TERM -"$1" && sleep 1 && kill -KILL -"$1"'

/** Returns a function that ends the watch. The caller calls it when the group has ended. */
export function watchProcessGroup(group: number, onError: (error: Error) => void): () => void {
  const child = spawn('/bin/sh', ['-c', script, 'watch-process-group', String(group)], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    // A signal to the group of the gateway, as from a terminal, must not end the watch before the gateway.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.once('error', onError)
  child.stdin.on('error', () => undefined)
  // Killed first: it takes the end of its input for the end of the gateway.
  return () => {
    if (child.kill('SIGKILL')) child.once('exit', () => child.stdin.destroy())
    else child.stdin.destroy()
  }
}
