/**
 * The files of an environment that only executes commands, such as that of a plugin. Its output is text, so bytes travel as
 * base64.
 */
import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { HermesError } from '../../../lib/errors.ts'
import { quoteWord } from '../../../lib/shell-quote.ts'
import type { RemoteFileGuard } from '../../command-policy/file-guard.ts'
import type { Environment } from '../environment.ts'
import { createRemoteFiles } from './remote-files.ts'
import type { StartRemote } from './script-runner.ts'

const timeoutMs = 120_000
/** The limit covers base64 text too. Files are smaller. */
const maxOutputBytes = 64 * 1_048_576
/** What one command carries; the limit of a system is 128 kB. */
const maxChunkChars = 64_000

/** The environment with files that its shell reads and writes. `denial`: see `RemoteEnvironmentOptions`. */
export function withFiles(environment: Omit<Environment, 'files'>, denial?: RemoteFileGuard): Environment {
  const files = createRemoteFiles({ cwd: environment.cwd, graceMs: 0, run: createRunner(environment), denial })
  return { ...environment, files }
}

function createRunner(environment: Omit<Environment, 'files'>): StartRemote {
  const execute = async (command: string, signal: AbortSignal) => {
    const result = await environment.execute(command, { timeoutMs, signal, maxOutputBytes })
    if (result.aborted || result.exitCode === null || result.timedOut)
      throw new HermesError('environment/lost', `A script for files did not end in ${environment.kind}.`)
    return result
  }

  /** Puts the input into a file of the environment, in parts. */
  const upload = async (input: Buffer, path: string, signal: AbortSignal) => {
    const text = input.toString('base64')
    for (let start = 0; start === 0 || start < text.length; start += maxChunkChars) {
      const redirect = start === 0 ? '>' : '>>'
      const part = text.slice(start, start + maxChunkChars)
      const { exitCode, output } = await execute(`umask 077; printf %s '${part}' ${redirect} ${path}`, signal)
      if (exitCode !== 0) throw new HermesError('environment/lost', output.trim().slice(0, 500))
    }
  }

  return async ({ command, input, onOutput }, signal) => {
    const stdin = new PassThrough()
    const stop = new AbortController()
    const linked = AbortSignal.any([signal, stop.signal])
    const token = randomUUID()
    const run = async () => {
      const path = `/tmp/.hermes-${token}.b64`
      if (input === 'open') await upload(Buffer.concat(await stdin.toArray()), path, linked)
      const source = input === 'open' ? `base64 -d ${path} |` : ''
      const script = `{ ${source} sh -c ${quoteWord(command)} 2>&1; printf '${token}%s' "$?"; } | base64; rm -f ${path}`
      const { output } = await execute(script, linked)
      const bytes = Buffer.from(output.replaceAll(/\s/g, ''), 'base64')
      const end = bytes.lastIndexOf(token)
      if (end === -1) throw new HermesError('environment/lost', output.trim().slice(0, 500))
      onOutput(bytes.subarray(0, end))
      const exitCode = Number(bytes.toString('latin1', end + token.length))
      return { kind: 'exited' as const, exitCode, hasSurvivors: false }
    }
    const exited = run()
    exited.catch(() => undefined)
    return {
      started: Promise.resolve(0),
      exited,
      stdin,
      kill: async () => stop.abort(),
      detach: () => undefined,
    }
  }
}
