/**
 * Installs the platform of docs/how-to/add-a-platform.md into an empty home and sends messages through it.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { startGateway } from '../../src/gateway.ts'
import { createHomeLayout, type HomeLayout } from '../../src/lib/home.ts'
import { tempHome } from '../kit/temp-home.ts'
import { readPage } from './pages.ts'
import { root, textOf } from './repository.ts'

const path = 'docs/how-to/add-a-platform.md'
const secret = 'a shared secret'

interface Paged {
  readonly id: string
  readonly to: string
  readonly text: string
}

/** The invented service: stores the messages that it receives. */
async function startService() {
  const paged: Paged[] = []
  const listeners = new Set<() => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const known = request.headers['x-pager-secret'] === secret
    if (known) paged.push(JSON.parse(body))
    response.writeHead(known ? 200 : 401).end()
    for (const notify of listeners) notify()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return {
    url: `http://127.0.0.1:${address.port}/send`,
    paged,
    until: (done: () => boolean) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (!done()) return
          listeners.delete(check)
          resolve()
        }
        listeners.add(check)
        check()
      }),
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Writes the files of the page into the home. */
async function install(home: HomeLayout): Promise<void> {
  const { blocks } = await readPage(path, textOf(path))
  for (const { file, text } of blocks) {
    if (file === undefined) continue
    mkdirSync(dirname(join(home.root, file)), { recursive: true, mode: 0o700 })
    writeFileSync(join(home.root, file), `${text}\n`, { mode: 0o600 })
  }
}

const source = new URL('../../src/', import.meta.url)
// Imported by its URL, because a JavaScript module has no types.
const { createResolver } = await import(new URL('packages/resolver.mjs', source).href)

/** Makes `#sdk` available to modules outside the repository, as `main.mjs` does for a daemon. */
const registerSdk = () => registerHooks({ resolve: createResolver(new Map()) })

test('the platform of the how-to page replies only to allowed users, and lets others pair', async (t) => {
  const registration = registerSdk()
  t.after(() => registration.deregister())
  const home = createHomeLayout(tempHome(t))
  await install(home)
  // On a machine without one, Ada would get a message about it.
  appendFileSync(home.configFile, 'terminal: { sandbox: "off" }\n')
  const service = await startService()
  t.after(() => service.close())
  const gateway = await startGateway({
    home,
    version: 'docs',
    environment: { HOME: home.root, HERMES_HTTP_PORT: '0', PAGER_URL: service.url, PAGER_SECRET: secret },
    platformDirectories: [home.platforms],
    commandLine: ['true'],
    strict: true,
    log: { pretty: false },
  })
  t.after(() => gateway.stop())
  await gateway.initialConnectsDone()
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
  const pagedTo = (name: string) =>
    service.paged.filter(({ to }) => to === name).map(({ text }) => text.split('\n', 1)[0])
  await service.until(() => pagedTo('ada').length > 0)
  assert.equal((await call({ id: '3', from: 'ada', text: '/whoami' })).status, 204)
  await service.until(() => pagedTo('ada').length > 1)
  assert.deepEqual(pagedTo('ada'), ['ok', '**You** no name · id `ada`  '])
  // The other person is asked to pair.
  assert.deepEqual(pagedTo('eve'), ["Hi! I don't recognize you yet."])
})

test('the test of the how-to page passes with the command of the page', async (t) => {
  const home = createHomeLayout(tempHome(t))
  await install(home)
  const { blocks } = await readPage(path, textOf(path))
  const command = blocks.find(({ text }) => text.includes('--test'))?.text
  assert.ok(command)
  const [program, ...args] = command.split(' ').map((word) => word.replace('~/.hermes', home.root))
  assert.equal(program, 'node')
  const ended = await new Promise<{ readonly code: unknown; readonly output: string }>((resolve) => {
    // Without the variables that would make it part of this test run.
    const options = { cwd: root, env: { PATH: process.env['PATH'] } }
    execFile(process.execPath, args, options, (error, output) => resolve({ code: error?.code ?? 0, output }))
  })
  assert.equal(ended.code, 0, ended.output)
  const counted = (what: string) => Number(new RegExp(`${what} (\\d+)`).exec(ended.output)?.[1])
  assert.ok(counted('pass') >= 20, ended.output)
  assert.match(ended.output, /without thread/)
})
