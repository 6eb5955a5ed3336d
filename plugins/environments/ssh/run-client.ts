/**
 * Runs a client that ends by itself: one that opens a connection, which then goes on in the background, or one that ends it.
 */
import { spawn } from 'node:child_process'
import { HermesError, systemCode, withTimeout } from '#sdk'
import { exitLine, type SshLine } from './command-line.ts'

const maxMessageChars = 4_096
/** Between the exit of `ssh` and the last of its messages. */
const drainMs = 200
const stopMs = 2_000

/** Runs a client that ends by itself. A client that does not is killed, which counts as a failure. */
export async function runClient(
  [program = 'ssh', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  { timeoutMs }: { timeoutMs: number },
): Promise<{ exitCode: number | null; messages: string }> {
  const child = spawn(program, args, { env: { ...env }, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  let messages = ''
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text: string) => {
    messages = `${messages}${text}`.slice(-maxMessageChars)
  })
  const drained = new Promise<void>((resolve) => child.stderr.once('close', resolve))
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('exit', resolve)
    child.once('error', reject)
  })
  try {
    const result = await withTimeout(exited, timeoutMs)
    if (!result.done) {
      child.kill('SIGKILL')
      return { exitCode: null, messages: `It did not answer within ${Math.round(timeoutMs / 1_000)} seconds.` }
    }
    await withTimeout(drained, drainMs)
    return { exitCode: result.value, messages }
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    throw new HermesError('environment/no-client', `${program} was not found.`, {
      cause: error,
      hint: 'Install the OpenSSH client (Debian: apt install openssh-client).',
    })
  } finally {
    child.stderr.destroy()
  }
}

/** Ends a shared connection with everything that uses it. Without one, nothing happens. */
export async function endConnection(
  line: Pick<SshLine, 'program' | 'socket'>,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  await runClient(exitLine(line), env, { timeoutMs: stopMs })
}
