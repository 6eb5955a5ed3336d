/**
 * The platform of docs/how-to/add-a-platform.md: taken from the page, installed into an empty home, talked to.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startGateway } from '../../src/gateway.ts'
import { createHomeLayout, type HomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { discoverPlatforms, loadPlatform } from '../../src/platforms/registry.ts'
import { platformContract } from '../kit/contracts/platform.ts'
import { createRecordingContext } from '../kit/recording-context.ts'
import { tempHome } from '../kit/temp-home.ts'
import { readPage } from './pages.ts'
import { textOf } from './repository.ts'

const path = 'docs/how-to/add-a-platform.md'
const secret = 'a word that both sides know'
const target = { platform: 'pager', account: 'default', chatId: 'ada' }

interface Paged {
  readonly id: string
  readonly to: string
  readonly text: string
}

/** The made-up service: keeps what it is sent. */
async function startService() {
  const paged: Paged[] = []
  const watchers = new Set<() => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const known = request.headers['x-pager-secret'] === secret
    if (known) paged.push(JSON.parse(body))
    response.writeHead(known ? 200 : 401).end()
    for (const look of watchers) look()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return {
    url: `http://127.0.0.1:${address.port}/send`,
    paged,
    until: (done: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!done()) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Writes the files of the page into an empty home. */
async function install(home: HomeLayout): Promise<void> {
  const { blocks } = await readPage(path, textOf(path))
  for (const { file, text } of blocks) {
    if (file === undefined) continue
    mkdirSync(dirname(join(home.root, file)), { recursive: true, mode: 0o700 })
    writeFileSync(join(home.root, file), `${text}\n`, { mode: 0o600 })
  }
}

const source = new URL('../../src/', import.meta.url)
// By its address, because plain JavaScript has no types to import.
const { createResolver } = await import(new URL('packages/resolver.mjs', source).href)

/** What `main.mjs` does for a real daemon: outsiders find `#sdk`. */
const openDoor = () => registerHooks({ resolve: createResolver({ source, packed: new Map() }) })

test('the platform of the how-to page answers the people on its list, and nobody else', async (t) => {
  const door = openDoor()
  t.after(() => door.deregister())
  const home = createHomeLayout(tempHome(t))
  await install(home)
  const service = await startService()
  t.after(() => service.close())
  const gateway = await startGateway({
    home,
    version: 'docs',
    environment: { HOME: home.root, HERMES_HTTP_PORT: '0', PAGER_URL: service.url, PAGER_SECRET: secret },
    platformFolders: [home.platforms],
    program: ['true'],
    strict: true,
    log: { pretty: false },
  })
  t.after(() => gateway.stop())
  await gateway.settled()
  assert.deepEqual(gateway.status().platforms, { pager: { state: 'connected' } })

  const call = (page: object, word = secret) =>
    fetch(`${gateway.url}/webhooks/pager`, {
      method: 'POST',
      headers: { 'x-pager-secret': word },
      body: JSON.stringify(page),
    })
  assert.equal((await call({ id: '0', from: 'ada', text: 'hello' }, 'wrong')).status, 401)
  assert.equal((await call({ id: '0' })).status, 400)
  assert.equal((await call({ id: '1', from: 'eve', text: 'Reply exactly no' })).status, 204)
  assert.equal((await call({ id: '2', from: 'ada', text: 'Reply exactly ok' })).status, 204)
  assert.equal((await call({ id: '2', from: 'ada', text: 'Reply exactly ok' })).status, 204)
  await service.until(() => service.paged.length > 0)
  assert.equal((await call({ id: '3', from: 'ada', text: '/whoami' })).status, 204)
  await service.until(() => service.paged.length > 1)
  assert.deepEqual(
    service.paged.map(({ to, text }) => [to, text.split('\n', 1)[0]]),
    [
      ['ada', 'ok'],
      ['ada', '**You** no name · id `ada`  '],
    ],
  )
})

describe('the platform of the how-to page, as every platform', () => {
  let home: HomeLayout
  let door: ReturnType<typeof openDoor>
  before(async () => {
    home = createHomeLayout(mkdtempSync(join(tmpdir(), 'hermes-docs-')))
    door = openDoor()
    await install(home)
  })
  after(() => {
    door.deregister()
    rmSync(home.root, { recursive: true, force: true })
  })

  platformContract('pager', async () => {
    const [platform] = (await discoverPlatforms({ directories: [home.platforms], log: silentLog })).platforms
    assert.ok(platform)
    const { createAdapter } = await loadPlatform(platform)
    const service = await startService()
    const gateway = createRecordingContext({ platform: 'pager', options: { url: service.url, secret } })
    return {
      adapter: createAdapter(gateway.context),
      gateway,
      target,
      async say(text, id) {
        const [route] = gateway.routes
        assert.ok(route)
        const body = JSON.stringify({ id, from: target.chatId, text })
        const headers = { 'x-pager-secret': secret }
        try {
          return (await route.handle(new Request('http://127.0.0.1/', { method: 'POST', headers, body }))).ok
        } catch {
          // The server answers 500 then.
          return false
        }
      },
      seen: (text) => service.until(() => service.paged.some((page) => page.text === text)),
      breakDown: () => void service.close(),
      close: () => service.close(),
    }
  })
})
