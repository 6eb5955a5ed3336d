/**
 * A gateway to be killed (`gateway.ts`) with one platform of this repository.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { tempHome } from '../kit/temp-home.ts'
import { type CrashGateway, createCrashGateway } from './gateway.ts'

export interface KilledGateway extends CrashGateway {
  /** A reply of the model that sends two files. */
  readonly albumReply: string
}

const repositoryPath = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/**
 * Nothing is started. Everything ends with the test.
 *
 * @param replyTo the reply of the model to a text
 */
export async function createKilledGateway(
  t: TestContext,
  platform: string,
  options: Readonly<Record<string, unknown>>,
  replyTo: (text: string, request: RecordedRequest) => string | ModelReply,
): Promise<KilledGateway> {
  let gateway: CrashGateway | undefined
  // Before the home is created: one that is in use must not be removed.
  t.after(() => gateway?.dispose())
  const home = tempHome(t)
  gateway = createCrashGateway(home)
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
  writeFileSync(join(folder, 'adapter.mjs'), `export { default } from '${adapter}'\n`)
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
  }
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config), { mode: 0o600 })
  return { ...gateway, albumReply: writeAlbum(home) }
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
