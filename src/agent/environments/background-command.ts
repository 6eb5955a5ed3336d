/**
 * Wraps a started shell as a background command, which outlives the call that started it.
 */
import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { messageOf } from '../../lib/errors.ts'
import { signalProcessGroup, terminateProcessGroup } from '../../lib/process-group.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { BackgroundCommand } from './environment.ts'

/** A started shell. */
export interface ShellProcess {
  readonly pid: number
  readonly output: Readable
  /** Undefined when stdin was not requested; the command then has an empty stdin. */
  readonly input: Writable | undefined
  readonly child: ChildProcess
  /** It runs in a process namespace of its own; its output closes when the namespace is empty. */
  readonly isNamespace: boolean
}

/** `graceMs`: from SIGTERM to SIGKILL. `drainMs`: how long to wait for output after the shell has exited. */
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
  output.once('error', (error) => emitOutput(`\n[the output ended with an error: ${error.message}]\n`))
  child.once('error', (error) => emitOutput(`\n[${error.message}]\n`))
  // A write to an exited command fails; `write` reports this by its result.
  input?.on('error', () => input.destroy())

  /** The id of an exited group can be reused, so it must not be signalled. */
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

  const takesInput = () => input?.writable === true && child.exitCode === null && child.signalCode === null

  return {
    pid,
    exited,
    onOutput(listener) {
      listeners.add(listener)
    },
    write(text) {
      if (!takesInput()) return false
      input?.write(text)
      return true
    },
    endInput() {
      if (!takesInput()) return false
      input?.end()
      return true
    },
    kill() {
      if (groupExited) return
      terminateProcessGroup(pid, graceMs).catch((error: unknown) =>
        emitOutput(`\n[could not be killed: ${messageOf(error)}]\n`),
      )
    },
  }
}
