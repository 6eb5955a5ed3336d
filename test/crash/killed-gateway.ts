/**
 * A gateway in a process of its own that kills itself at a failpoint, with one platform of this repository.
 */
import type { ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { tempHome } from '../kit/temp-home.ts'
import { arm, start } from './scenario.ts'

export interface KilledGateway {
  readonly home: string
  /** A reply of the model that sends two files. */
  readonly albumReply: string
  /** Starts the gateway. Without a failpoint it runs until it is stopped. */
  run(killAt?: string, killHit?: number): ChildProcess
  /** Makes a running gateway kill itself the next time that it reaches the failpoint. */
  arm(child: ChildProcess, killAt: string): Promise<void>
  /** Stops a running gateway. Resolves with its exit code. */
  stop(child: ChildProcess): Promise<unknown>
}

const repositoryPath = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/**
 * Everything ends with the test.
 *
 * @param replyTo the reply of the model to a text
 * @param more configuration
 */
export async function createKilledGateway(
  t: TestContext,
  platform: string,
  options: Readonly<Record<string, unknown>>,
  replyTo: (text: string, request: RecordedRequest) => string | ModelReply,
  more: Readonly<Record<string, unknown>> = {},
): Promise<KilledGateway> {
  const children = new Set<ChildProcess>()
  // Before the home is created: one that is in use must not be removed.
  t.after(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const home = tempHome(t)
  const model = await startOpenAiServer({
    defaultReply(request) {
      const reply = replyTo(request.lastUserText, request)
      return typeof reply === 'string' ? { text: reply } : reply
    },
  })
  t.after(() => model.stop())
  const folder = join(home, 'platforms', platform)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  cpSync(repositoryPath(`platforms/${platform}/plugin.yaml`), join(folder, 'plugin.yaml'))
  const adapter = new URL(`../../platforms/${platform}/adapter.ts`, import.meta.url).href
  writeFileSync(join(folder, 'adapter.ts'), `export { default } from '${adapter}'\n`)
  const config = {
    model: 'test',
    provider: 'openai',
    base_url: model.baseUrl,
    api_key: 'none',
    http: { port: 0 },
    auxiliary: { title_generation: { enabled: false } },
    // Each message gets an answer of its own.
    display: { busy_input_mode: 'queue' },
    // On a machine without one, the owner would get a message about it.
    terminal: { sandbox: 'off' },
    platforms: { [platform]: options },
    ...more,
  }
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config), { mode: 0o600 })
  return {
    home,
    albumReply: writeAlbum(home),
    run: (killAt, killHit = 1) => start(home, killAt === undefined ? {} : { killAt, killHit }, children),
    arm: (child, killAt) => arm(child, { killAt, killHit: 1 }),
    stop(child) {
      const stopped = exitOf(child)
      child.kill('SIGTERM')
      return stopped
    },
  }
}

/** Resolves with the signal that ended the process, or with its exit code. */
export function exitOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
}

/** Writes two files to the working directory of the agent, and returns a reply of the model that sends them. */
function writeAlbum(home: string): string {
  const workspace = join(home, 'workspace')
  mkdirSync(workspace, { recursive: true, mode: 0o700 })
  return ['one.png', 'two.png']
    .map((name) => {
      writeFileSync(join(workspace, name), name)
      return `MEDIA:${join(workspace, name)}`
    })
    .join('\n')
}
