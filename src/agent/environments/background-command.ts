/**
 * A started shell as a background command: it outlives the call that started it.
 */
import { StringDecoder } from 'node:string_decoder'
import { messageOf } from '../../lib/errors.ts'
import { signalProcessGroup, terminateProcessGroup } from '../../lib/process-group.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { BackgroundCommand } from './environment.ts'
import type { ShellProcess } from './shell-process.ts'

/** `graceMs`: from SIGTERM to SIGKILL; `drainMs`: how long output is awaited after the shell's end. */
export function createBackgroundCommand(
  shellProcess: ShellProcess,
  graceMs: number,
  drainMs: number,
): BackgroundCommand {
  const { pid, child, output, input } = shellProcess
  const listeners = new Set<(text: string) => void>()
  const emitOutput = (text: string) => {
    if (text === '') return
    for (const listener of listeners) listener(text)
  }
  const decoder = new StringDecoder('utf8')
  output.on('data', (chunk: Buffer) => emitOutput(decoder.write(chunk).replaceAll('\0', '\u2400')))
  output.once('error', (error) => emitOutput(`\n[the output broke off: ${error.message}]\n`))
  child.once('error', (error) => emitOutput(`\n[${error.message}]\n`))
  // Writing to a command that has ended; `write` tells its caller by its result.
  input?.on('error', () => input.destroy())

  /** Once the group is gone its number may be given to a stranger. */
  let groupExited = false
  const closed = new Promise<void>((resolve) => output.once('close', resolve))
  const exited = new Promise<{ exitCode: number | null }>((resolve) => {
    child.once('exit', async (exitCode) => {
      groupExited = !signalProcessGroup(pid, 0)
      await withTimeout(closed, drainMs)
      emitOutput(decoder.end())
      input?.destroy()
      resolve({ exitCode })
    })
  })

  return {
    pid,
    exited,
    onOutput(listener) {
      listeners.add(listener)
    },
    write(text) {
      if (input === undefined || !input.writable || child.exitCode !== null || child.signalCode !== null) return false
      input.write(text)
      return true
    },
    kill() {
      if (groupExited) return
      terminateProcessGroup(pid, graceMs).catch((error: unknown) =>
        emitOutput(`\n[could not be ended: ${messageOf(error)}]\n`),
      )
    },
  }
}
