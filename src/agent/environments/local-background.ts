/**
 * A started shell as a background command: it outlives the call that started it.
 */
import { StringDecoder } from 'node:string_decoder'
import { messageOf } from '../../lib/errors.ts'
import { endGroup, signalGroup } from '../../lib/process-group.ts'
import { within } from '../../lib/wait.ts'
import type { BackgroundCommand } from './environment.ts'
import type { ShellProcess } from './shell-process.ts'

/** `graceMs`: from SIGTERM to SIGKILL; `drainMs`: how long output is awaited after the shell's end. */
export function startBackground(shellProcess: ShellProcess, graceMs: number, drainMs: number): BackgroundCommand {
  const { pid, child, output, input } = shellProcess
  const listeners = new Set<(text: string) => void>()
  const tell = (text: string) => {
    if (text === '') return
    for (const listener of listeners) listener(text)
  }
  const decoder = new StringDecoder('utf8')
  output.on('data', (chunk: Buffer) => tell(decoder.write(chunk).replaceAll('\0', '\u2400')))
  output.once('error', (error) => tell(`\n[the output broke off: ${error.message}]\n`))
  child.once('error', (error) => tell(`\n[${error.message}]\n`))
  // Writing to a command that has ended; `write` tells its caller by its result.
  input?.on('error', () => input.destroy())

  /** Once the group is gone its number may be given to a stranger. */
  let gone = false
  const closed = new Promise<void>((resolve) => output.once('close', resolve))
  const ended = new Promise<{ exitCode: number | null }>((resolve) => {
    child.once('exit', async (exitCode) => {
      gone = !signalGroup(pid, 0)
      await within(closed, drainMs)
      tell(decoder.end())
      input?.destroy()
      resolve({ exitCode })
    })
  })

  return {
    pid,
    ended,
    onOutput(listener) {
      listeners.add(listener)
    },
    write(text) {
      if (input === undefined || !input.writable || child.exitCode !== null || child.signalCode !== null) return false
      input.write(text)
      return true
    },
    kill() {
      if (gone) return
      endGroup(pid, graceMs).catch((error: unknown) => tell(`\n[could not be ended: ${messageOf(error)}]\n`))
    },
  }
}
