/**
 * Runs a script of the operator: a file below `scripts/` of the home, by its interpreter, in the sandbox of the agent.
 */
import { realpath } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import type { Environment } from '../../agent/environments/environment.ts'
import { systemCode } from '../../lib/errors.ts'
import { quoteWord } from '../../lib/shell-quote.ts'
import { stripTerminalEscapes } from '../../lib/visible-text.ts'

export interface RunScriptDeps {
  /** `scripts/` of the home. */
  readonly directory: string
  /** A shell of its own. Rejects when commands do not run on this machine. */
  openShell(): Promise<{ readonly environment: Environment }>
  redact(text: string): string
  readonly timeoutMs: () => number
}

export interface ScriptRequest {
  /** The path below the directory. */
  readonly script: string
  /** The working directory; '' for the usual one. */
  readonly workdir?: string
  /** A file that it reads from its standard input. */
  readonly input?: string
}

export interface ScriptResult {
  readonly ok: boolean
  /** What it printed; of a failed one with the reason. */
  readonly output: string
}

const maxOutputBytes = 200_000
const interpreters: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.sh': 'bash',
  '.bash': 'bash',
  '.js': 'node',
  '.mjs': 'node',
}

/** A script that fails or does not exist is a result, too. Rejects with the signal's reason, or when it cannot be started. */
export async function runScript(
  { directory, openShell, redact, timeoutMs }: RunScriptDeps,
  { script, workdir = '', input }: ScriptRequest,
  signal: AbortSignal,
): Promise<ScriptResult> {
  const path = await findScript(directory, script)
  if (path === undefined) return { ok: false, output: `The script ${script} does not exist below ${directory}.` }
  const { environment } = await openShell()
  try {
    const program = interpreters[extname(path).toLowerCase()]
    const start = program === undefined ? quoteWord(path) : `${program} ${quoteWord(path)}`
    const command = input === undefined ? start : `${start} < ${quoteWord(input)}`
    const exposed = input === undefined ? [path] : [path, input]
    const cwd = workdir === '' ? {} : { cwd: workdir }
    const options = { timeoutMs: timeoutMs(), signal, maxOutputBytes, exposed, ...cwd }
    const { output, exitCode, timedOut } = await environment.execute(command, options)
    signal.throwIfAborted()
    const text = redact(stripTerminalEscapes(output)).trimEnd()
    if (timedOut)
      return { ok: false, output: `The script was ended after ${timeoutMs() / 1_000} s.\n\n${text}`.trimEnd() }
    if (exitCode === 0) return { ok: true, output: text }
    return {
      ok: false,
      output: `The script failed with the exit code ${exitCode ?? 'of a signal'}.\n\n${text}`.trimEnd(),
    }
  } finally {
    await environment.cleanup()
  }
}

/** The real path of a file that lies in the directory, also behind links; undefined otherwise. */
export async function findScript(directory: string, name: string): Promise<string | undefined> {
  try {
    const [root, path] = await Promise.all([realpath(directory), realpath(join(directory, name))])
    return path.startsWith(`${root}${sep}`) ? path : undefined
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
