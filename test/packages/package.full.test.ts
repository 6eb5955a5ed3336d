/**
 * What `npm pack` publishes, installed into an empty folder.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findProgram } from '../../src/lib/find-program.ts'
import { childEnvironment } from '../kit/child-environment.ts'
import { npm, type PackedGateway, packGateway } from '../kit/packed-gateway.ts'
import { removeFolder } from '../kit/remove-folder.ts'
import { tempHome } from '../kit/temp-home.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'
import { startDaemon } from '../stories/daemon.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const hasNpm = findProgram('npm', process.env['PATH'] ?? '') !== undefined

const home = {
  'config.yaml': `provider: demo
http: { port: 0 }
plugins: { enabled: [stamp] }
platforms: { notes: { enabled: true, allow_from: [ada] } }
`,
  'hooks/diary/HOOK.yaml': 'name: diary\ndescription: Writes down messages\nevents: ["agent:start"]\n',
  'hooks/diary/handler.ts': `import { appendFile } from 'node:fs/promises'
import { messageOf, type HookEvents } from '#sdk'
export async function handle(event: string, { message }: HookEvents['agent:start']): Promise<void> {
  await appendFile(new URL('./diary.txt', import.meta.url), event + ': ' + messageOf(new Error(message)))
}
`,
  'plugins/stamp/plugin.yaml': 'name: stamp\nversion: 0.1.0\ndescription: Stamps replies\n',
  'plugins/stamp/index.ts': `import { z } from 'zod'
import type { PluginContext } from 'hermes-gateway/sdk'
export function register(ctx: PluginContext): void {
  ctx.registerHook('transform_llm_output', ({ response_text }) => z.string().parse(response_text) + ' [stamped]')
}
`,
  'platforms/notes/plugin.yaml': 'name: notes\nkind: platform\nlabel: Notes\ndescription: Notes\naccess: allowlist\n',
  'platforms/notes/adapter.ts': `import { brand, definePlatform, type EventKey, type PlatformAdapter, type PlatformContext } from '#sdk'
function createAdapter(context: PlatformContext): PlatformAdapter {
  const sent: string[] = []
  return {
    async connect() {
      context.route({
        method: 'POST',
        path: '/webhooks/notes',
        access: 'own',
        async handle(request) {
          const source = { platform: context.platform, account: context.account, chatId: 'desk', chatType: 'dm', userId: 'ada' } as const
          const text = await request.text()
          const accepted = await context.accept({ source, text, messageType: 'text', timestamp: context.clock() }, [brand<EventKey>('notes:1')])
          if (accepted.status === 'refused') return new Response(accepted.reason, { status: 403 })
          await context.turns.waitForResult(accepted.seq, request.signal)
          while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
          return Response.json(sent)
        },
      })
    },
    async disconnect() {},
    async send({ text }) {
      sent.push(text)
      return { success: true }
    },
  }
}
export default definePlatform({ createAdapter })
`,
}

/** What a program outside of the gateway uses. */
const program = `import { messageOf, type PluginContext } from 'hermes-gateway/sdk'
export const register = (ctx: PluginContext) => void ctx
const text: string = messageOf(new Error('outside'))
process.stdout.write(text)
`

describe('the package', { skip: !hasNpm && 'npm is not installed', timeout: 180_000 }, () => {
  let folder = ''
  let packed: PackedGateway

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hermes-package-'))
    packed = await packGateway(folder)
  })
  after(() => removeFolder(folder))

  test('answers a message, and runs a hook, a plugin and a platform in TypeScript', async (t) => {
    const daemonHome = tempHome(t)
    writeFiles(daemonHome, home)
    const daemon = startDaemon(t, daemonHome, { main: packed.main })
    const url = await daemon.ready
    await daemon.waitForLog({ event: 'platform.connected', platform: 'notes' })
    await daemon.waitForLog({ event: 'platform.connected', platform: 'web' })
    const answer = await fetch(`${url}/webhooks/notes`, { method: 'POST', body: 'Reply exactly from the package' })
    assert.deepEqual([answer.status, await answer.json()], [200, ['from the package [stamped]']])
    const diary = join(daemonHome, 'hooks/diary/diary.txt')
    const limit = performance.now() + waitLimitMs()
    const written = () => (existsSync(diary) ? readFileSync(diary, 'utf8') : '')
    while (written() === '' && performance.now() < limit) await pause(10)
    assert.equal(written(), 'agent:start: Reply exactly from the package')
    for (const path of ['/', '/assets/app.js', '/assets/marked.js', '/assets/uqr.js', '/assets/markdown-lexer.js']) {
      const page = await fetch(`${url}${path}`)
      assert.deepEqual([page.status, (await page.text()).includes('import.meta.url')], [200, false], path)
    }
    daemon.signal('SIGTERM')
    assert.equal(await daemon.exit(), 0)
  })

  test('has every platform, plugin, hook and skill of the checkout', async (t) => {
    const environment = { ...childEnvironment(tempHome(t)), HERMES_HOME: tempHome(t) }
    const manifests = '{hooks,platforms,plugins,skills}/**/{plugin.yaml,HOOK.yaml,SKILL.md}'
    const dist = join(packed.folder, 'dist')
    assert.deepEqual(globSync(manifests, { cwd: dist }).sort(), globSync(manifests, { cwd: root }).sort())
    const commands = [
      ['platforms', 'manifest', 'slack'],
      ['plugins', 'list'],
      ['hooks', 'list'],
      ['skills', 'list'],
    ]
    for (const command of commands) {
      const [ours, theirs] = await Promise.all(
        [packed.main, join(root, 'src/main.mjs')].map((main) =>
          run(process.execPath, [main, ...command], { env: environment }),
        ),
      )
      assert.equal(ours?.stdout, theirs?.stdout.replace(/(?<=^boot-md .*)typescript/, 'javascript'), command.join(' '))
    }
    const modules = globSync('{platforms,plugins,hooks}/**/{adapter,index,handler}.mjs', { cwd: dist })
    assert.ok(modules.length > 20)
    const importAll = modules.map((name) => `await import(${JSON.stringify(join(dist, name))});`).join('')
    await run(process.execPath, ['--input-type=module', '--eval', importAll], { env: environment })
  })

  test('runs by npx and by its command, with the version of the checkout', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const { stdout } = await run(join(packed.project, 'node_modules/.bin/hermes'), ['--version'])
    const byNpx = await npm(folder, packed.project, ['exec', '--offline', 'hermes-gateway', '--', '--version'])
    assert.deepEqual([stdout, byNpx], [`${version}\n`, `${version}\n`])
  })

  test('gives a program its API, with types', async () => {
    writeFiles(packed.project, { 'program.mts': program, 'tsconfig.json': '{}' })
    const imported = await run(process.execPath, ['program.mts'], { cwd: packed.project })
    assert.equal(imported.stdout, 'outside')
    const types = [
      '--strict',
      '--noEmit',
      '--module',
      'nodenext',
      '--types',
      'node',
      '--typeRoots',
      join(root, 'node_modules/@types'),
    ]
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [compiler, ...types, '--skipLibCheck', '--ignoreConfig', 'program.mts'], {
      cwd: packed.project,
    })
  })

  test('has JavaScript and types, and nothing of the development', () => {
    const names = globSync('**/*.*', { cwd: packed.folder })
    assert.deepEqual(
      names.filter((name) => /(?<!\.d)\.m?ts$|\.test\.|tsconfig|package-lock/.test(name)),
      [],
    )
    const manifest = JSON.parse(readFileSync(join(packed.folder, 'package.json'), 'utf8'))
    assert.deepEqual(
      Object.keys(manifest).filter((key) => /^(?:scripts|private|dependencies|devDependencies)$/.test(key)),
      [],
    )
    const licenses = readFileSync(join(packed.folder, 'dist/LICENSES.txt'), 'utf8')
    for (const name of ['fastify', 'zod', 'discord.js', 'telegraf'])
      assert.match(licenses, new RegExp(`^${name} \\d`, 'm'))
  })

  for (const [name, args] of [
    ['publint', ['run', '--strict']],
    ['@arethetypeswrong/cli', ['--profile', 'esm-only']],
  ] as const) {
    const bin = join(root, 'node_modules', name, name === 'publint' ? 'src/cli.js' : 'dist/index.js')
    const isInstalled = globSync(bin).length > 0
    test(`has no fault that ${name} finds`, {
      skip: !isInstalled && `${name} is not installed: npm run lint:package`,
    }, async () => {
      await run(process.execPath, [bin, ...args, packed.archive])
    })
  }
})

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
