/**
 * The gateway of the soak, started with the command of `npm start`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { createHomeLayout } from '../../../src/lib/home.ts'

export interface SoakDaemon {
  readonly pid: number
  /** Bearer token and address of its HTTP API. */
  readonly url: string
  readonly token: string
  /** Log lines of the levels warn and error, oldest first, at most 1,000. */
  readonly problems: readonly string[]
  /** Why it is not running any more. */
  readonly ended: () => string | undefined
  stop(): Promise<void>
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
const maxProblems = 1_000
const logSchema = z.looseObject({ level: z.union([z.number(), z.string()]), event: z.string().optional() })

/** Rejects with the output when the gateway ends before it is ready. */
export async function startSoakDaemon(home: string, chatUrl: string, modelUrl: string): Promise<SoakDaemon> {
  await createHome(home, chatUrl, modelUrl)
  const { scripts } = z
    .object({ scripts: z.object({ start: z.string() }) })
    .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
  const child = spawn('/bin/sh', ['-c', scripts.start], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: path, HOME: home, HERMES_HOME: home },
  })
  let ended: string | undefined
  child.once('exit', (code, signal) => {
    ended = `the gateway ended (${signal ?? code})`
  })
  const problems: string[] = []
  const url = await readyUrl(child, problems)
  return {
    pid: child.pid ?? 0,
    url,
    token: (await readFile(createHomeLayout(home).tokenFile, 'utf8')).trim(),
    problems,
    ended: () => ended,
    async stop() {
      if (ended !== undefined) return
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function createHome(home: string, chatUrl: string, modelUrl: string): Promise<void> {
  const platform = join(home, 'platforms', 'soakchat')
  await mkdir(platform, { recursive: true, mode: 0o700 })
  await cp(fileURLToPath(new URL('./chat-platform/', import.meta.url)), platform, { recursive: true })
  const config = `model: soak
provider: openai
base_url: ${modelUrl}
api_key: none
http: { port: 0 }
auxiliary: { title_generation: { enabled: false } }
platforms:
  soakchat: { enabled: true, url: "${chatUrl}" }
`
  await writeFile(join(home, 'config.yaml'), config, { mode: 0o600 })
}

function readyUrl(child: ChildProcess, problems: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      output += piece
      const url = /http:\/\/[\w.:[\]-]+/.exec(output)?.[0]
      if (url === undefined) return
      resolve(url)
      output = ''
    })
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      const lines = (rest + piece).split('\n')
      rest = lines.pop() ?? ''
      problems.push(...lines.filter(isProblem).slice(0, maxProblems - problems.length))
    })
    child.once('exit', (code, signal) =>
      reject(new Error(`the gateway ended (${signal ?? code}) before it was ready:\n${output}${problems.join('\n')}`)),
    )
  })
}

function isProblem(line: string): boolean {
  try {
    const { level } = logSchema.parse(JSON.parse(line))
    return typeof level === 'number' ? level >= 40 : level !== 'info' && level !== 'debug'
  } catch {
    // It is no log line, so it is unexpected output.
    return line.trim() !== ''
  }
}
