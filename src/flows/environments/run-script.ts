/**
 * Runs a script of the operator: a file below `scripts/` of the home, by its interpreter, in the sandbox of the agent.
 */
import { realpath } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import type { Environment } from '../../agent/environments/environment.ts'
import type { ScriptResult } from '../../cron/runs.ts'
import { systemCode } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { quoteWord } from '../../lib/shell-quote.ts'
import { stripTerminalEscapes } from '../../lib/visible-text.ts'
import type { Outbox } from '../../outbox/outbox.ts'

export interface ScriptRequest {
  /** The path below the directory. */
  readonly script: string
  /** The working directory; '' for the usual one. */
  readonly workdir?: string
  /** A file that it reads from its standard input. */
  readonly input?: string
  readonly timeoutMs: number
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
  {
    home,
    openShell,
    outbox,
  }: {
    readonly home: HomeLayout
    /** A shell of its own. Rejects when commands do not run on this machine. */
    readonly openShell: () => Promise<{ readonly environment: Environment }>
    readonly outbox: Pick<Outbox, 'withhold'>
  },
  { script, workdir = '', input, timeoutMs }: ScriptRequest,
  signal: AbortSignal,
): Promise<ScriptResult> {
  const directory = scriptsDirectory(home)
  const path = await findScript(home, script)
  if (path === undefined) return { ok: false, output: `The script ${script} does not exist below ${directory}.` }
  const { environment } = await openShell()
  try {
    const program = interpreters[extname(path).toLowerCase()]
    const start = program === undefined ? quoteWord(path) : `${program} ${quoteWord(path)}`
    const command = input === undefined ? start : `${start} < ${quoteWord(input)}`
    const exposed = input === undefined ? [path] : [path, input]
    const cwd = workdir === '' ? {} : { cwd: workdir }
    const options = { timeoutMs, signal, maxOutputBytes, exposed, ...cwd }
    const { output, exitCode, timedOut } = await environment.execute(command, options)
    signal.throwIfAborted()
    const text = outbox.withhold(stripTerminalEscapes(output)).trimEnd()
    if (timedOut)
      return { ok: false, output: `The script was ended after ${timeoutMs / 1_000} s.\n\n${text}`.trimEnd() }
    if (exitCode === 0) return { ok: true, output: text }
    return {
      ok: false,
      output: `The script failed with the exit code ${exitCode ?? 'of a signal'}.\n\n${text}`.trimEnd(),
    }
  } finally {
    await environment.cleanup()
  }
}

/** Contains the scripts of the operator. */
export function scriptsDirectory({ root }: HomeLayout): string {
  return join(root, 'scripts')
}

/** The real path of a file that lies in the directory, also behind links; undefined otherwise. */
export async function findScript(home: HomeLayout, name: string): Promise<string | undefined> {
  const directory = scriptsDirectory(home)
  try {
    const [root, path] = await Promise.all([realpath(directory), realpath(join(directory, name))])
    return path.startsWith(`${root}${sep}`) ? path : undefined
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
