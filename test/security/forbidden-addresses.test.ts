/**
 * Whatever fetches an address that a model, a page, a server or a stranger names asks public addresses only: one list of
 * addresses for all of them.
 */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { createHomeAssistantClient } from '../../plugins/homeassistant/client.ts'
import { login } from '../../src/agent/mcp/login.ts'
import { createLoginStore } from '../../src/agent/mcp/login-store.ts'
import { installSkills } from '../../src/agent/skills/install-skill.ts'
import { createGuardedFetch } from '../../src/flows/mcp/guarded-fetch.ts'
import { createMediaServices } from '../../src/flows/models/media-services.ts'
import { createVision } from '../../src/flows/models/vision.ts'
import { createFileServices } from '../../src/flows/platform/platform-files.ts'
import { createWebAccess } from '../../src/flows/tools/web-access.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createAttachmentDownloader } from '../../src/media/attachment-downloader.ts'
import { mediaConfig } from '../../src/media/config.ts'
import {
  forbiddenLocations,
  forbiddenUrls,
  publicAddress,
  recordConnections,
  redirectStatuses,
  startPublicServer,
  testRules,
} from '../kit/forbidden-addresses.ts'
import { createPng } from '../kit/pictures.ts'
import { tempHome } from '../kit/temp-home.ts'
import { startFileServer } from '../media/file-server.ts'

/** Fetches an address. Resolves with why it was refused; undefined if it was fetched. */
type Attempt = (url: string) => Promise<unknown>

interface Fetcher {
  readonly name: string
  /** Addresses that the fetcher asks by its configuration are added to `configured`, as `address:port`. */
  open(t: TestContext, configured: Set<string>, origin: string): Promise<Attempt> | Attempt
}

const { signal } = new AbortController()
const noModel = () => ({
  isConfigured: async () => false,
  complete: () => Promise.reject(new Error('no model')),
})
const redact = (text: string) => text

function problemOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

function openWeb(variables: Readonly<Record<string, string>> = {}, backend: '' | 'tavily' = '') {
  const web = { backend: '', search_backend: '', extract_backend: backend } as const
  return createWebAccess(
    {
      settings: () => ({ web, security: { allow_private_urls: false } }),
      variables: () => variables,
      auxiliary: noModel,
      ...{ redact, log: silentLog, addresses: testRules() },
    },
    {},
  )
}

const fetchers: readonly Fetcher[] = [
  {
    name: 'web_extract',
    open: () => async (url) => (await openWeb().read([url], signal))[0]?.error,
  },
  {
    name: 'vision_analyze',
    open(t) {
      const pictures = join(tempHome(t), 'pictures')
      return async (url) => {
        const vision = createVision({ pictures, auxiliary: noModel, redact, addresses: testRules() }, {})
        const answer = await vision.analyze({ url, question: 'what?', region: '' }, true, signal)
        return 'code' in answer ? answer.code : undefined
      }
    },
  },
  {
    name: 'a picture of the API',
    open(t) {
      const folder = join(tempHome(t), 'media')
      return (url) => {
        const addresses = testRules()
        const options = { folder, pictures: join(folder, 'pictures'), clock: Date.now, maxBytes: () => 1_000_000 }
        return problemOf(createFileServices(options, addresses).picture({ url, signal }))
      }
    },
  },
  {
    name: 'an attachment of a message',
    open(t) {
      const folder = join(tempHome(t), 'media')
      return async (url) => {
        const media = createAttachmentDownloader({
          ...{ folder, pictures: join(folder, 'pictures'), clock: Date.now, sleep: async () => undefined },
          ...{ log: silentLog, maxBytes: () => 1_000_000, adapter: () => undefined, fileHosts: () => [] },
          ...{ randomSuffix: () => crypto.randomUUID(), redact, addresses: testRules() },
        })
        const source = { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm', userId: 'u' } as const
        const attachments = [{ kind: 'photo', url } as const]
        const event = { source, text: '', messageType: 'photo', timestamp: 1, attachments } as const
        return (await media.fetchAttachments(event, 'x', signal))[0]?.problem
      }
    },
  },
  {
    name: 'image_generate',
    async open(t, configured) {
      const home = tempHome(t)
      let drawn = ''
      const server = await startFileServer(t, (response) => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [{ url: drawn }] }))
      })
      configured.add(`127.0.0.1:${server.port}`)
      const own = { baseUrl: server.origin, apiKey: 'k', hasOwnKey: true, variables: {}, providers: {} }
      const main = { provider: 'custom', model: 'm', ...own }
      const image_gen = { provider: 'custom', model: 'painter', base_url: server.origin, api_key: 'k' }
      return (url) => {
        drawn = url
        const services = createMediaServices({
          ...{ home: { media: join(home, 'media'), cache: join(home, 'cache') }, withheld: [], clock: Date.now },
          ...{ sleep: async () => undefined, environment: () => ({ process: {} }), addresses: testRules() },
          settings: () => settingsWith({ image_gen }),
          servers: async () => ({ main, keys: undefined }),
        })
        return problemOf(services.draw({ prompt: 'a cat', shape: 'square' }, signal))
      }
    },
  },
  {
    name: 'what an MCP server names',
    open: (_t, _configured, origin) => (url) => problemOf(createGuardedFetch(`${origin}/mcp`, testRules()).fetch(url)),
  },
]

function settingsWith(values: Readonly<Record<string, unknown>>) {
  return z.object(mediaConfig).parse(values)
}

/** Not every system has a second loopback address. */
async function canListen(): Promise<boolean> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(0, publicAddress, () => server.close(() => resolve(true)))
  })
}

const skip = (await canListen()) ? false : `this system cannot listen on ${publicAddress}`

for (const { name, open } of fetchers)
  test(`${name}: only public addresses are asked`, { skip }, async (t) => {
    const inner = await startFileServer(t, (response) => response.end('secret'))
    const content = createPng()
    const server = await startPublicServer(t, () =>
      name === 'web_extract' ? { type: 'text/plain', content: 'hello' } : { type: 'image/png', content },
    )
    const configured = new Set([`${publicAddress}:${server.port}`])
    const attempt = await open(t, configured, server.origin)
    const connections = recordConnections(t, [inner.port, server.port])
    const outside = () => connections.filter((one) => !configured.has(one))

    assert.equal(await attempt(`${server.origin}/picture.png`), undefined)
    const urls = forbiddenUrls(inner.port)
    assert.ok(urls.length >= 100)
    for (const url of urls) assert.notEqual(await attempt(url), undefined, url)
    for (const status of redirectStatuses) {
      for (const location of forbiddenLocations(inner.port)) {
        const url = `${server.origin}/${status}/${encodeURIComponent(location)}`
        assert.notEqual(await attempt(url), undefined, `${status} to ${location}`)
      }
      assert.equal(await attempt(`${server.origin}/${status}/%2Fpicture.png`), undefined, `${status} within the server`)
    }
    // The name is looked up once; an address that it gets later is not used.
    assert.equal(await attempt(`http://rebinding.test:${server.port}/picture.png`), undefined)
    assert.deepEqual(outside(), [])
    assert.equal(inner.requests.length, 0)
  })

test('an MCP server sends the browser of a person to public addresses only', { skip }, async (t) => {
  const { origin } = await startPublicServer(t, () => ({ type: 'text/plain', content: '' }))
  const { check } = createGuardedFetch(`${origin}/mcp`, testRules())
  await check(`${origin}/authorize?a=b`)
  for (const url of forbiddenUrls(1)) await assert.rejects(check(url), url)
})

test('a service that reads pages is not asked for other addresses', { skip }, async (t) => {
  const service = await startFileServer(t, (response) => response.end('{"results":[]}'))
  const web = openWeb({ TAVILY_API_KEY: 'k', TAVILY_API_URL: service.origin }, 'tavily')
  const urls = forbiddenUrls(service.port)
  const pages = await web.read(urls, signal)
  assert.equal(pages.filter(({ error }) => error === undefined).length, 0)
  assert.equal(service.requests.length, 0)
})

test('a skill is not installed from an address', async (t) => {
  const root = join(tempHome(t), 'skills')
  mkdirSync(root, { recursive: true })
  const connections = recordConnections(t, [1])
  for (const source of forbiddenUrls(1)) {
    if (source === '') continue
    const lock = <T>(_file: string, work: () => Promise<T>) => work()
    const options = { root, category: '', replace: false, find: async () => undefined, lock }
    await assert.rejects(installSkills({ ...options, source }), source)
  }
  assert.deepEqual(connections, [])
})

test('Home Assistant cannot send its token elsewhere', async (t) => {
  const inner = await startFileServer(t, (response) => response.end('{}'))
  let answer: { readonly status: number; readonly location: string } | undefined
  const house = await startFileServer(t, (response) => {
    if (answer === undefined) response.end('{}')
    else response.writeHead(answer.status, { location: answer.location }).end()
  })
  const client = createHomeAssistantClient({ url: house.origin, token: 'secret', timeoutMs: 5_000 })
  assert.deepEqual(await client.get('/api/states', signal), {})
  for (const status of redirectStatuses)
    for (const location of forbiddenLocations(inner.port)) {
      answer = { status, location }
      await assert.rejects(client.get('/api/states', signal))
      await assert.rejects(client.callService('light', 'turn_on', {}, signal))
    }
  assert.equal(inner.requests.length, 0)
})

const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'] as const

for (const named of ['resource_metadata', 'authorization_servers', ...endpoints])
  test(`a login at an MCP server does not follow its ${named} into the own network`, { skip }, async (t) => {
    const inner = await startFileServer(t, (response) => response.end('{}'))
    for (const bad of forbiddenLocations(inner.port).filter((one) => one.startsWith('http') && !one.includes('@'))) {
      const server = await startLoginServer(t, named, bad)
      const connections = recordConnections(t, [inner.port])
      const shown: string[] = []
      const guarded = createGuardedFetch(`${server.origin}/mcp`, testRules())
      const ended = login({
        server: 'remote',
        url: `${server.origin}/mcp`,
        settings: { oauth: { redirect_port: 0 } },
        store: createLoginStore(join(tempHome(t), 'mcp-tokens'), 'remote'),
        fetch: guarded.fetch,
        checkAddress: guarded.check,
        showAddress: (address) => void shown.push(address),
        // The browser returns where the login gets as far as that.
        pasted: Promise.resolve('http://127.0.0.1/callback?code=x&state=y'),
        signal,
      })
      await assert.rejects(ended, bad)
      assert.deepEqual(
        connections.filter((one) => one !== `${publicAddress}:${server.port}`),
        [],
        bad,
      )
      for (const address of shown) assert.ok(address.startsWith(server.origin), address)
    }
    assert.equal(inner.requests.length, 0)
  })

/** An MCP server with a login that names `bad` in one place. */
async function startLoginServer(t: TestContext, named: string, bad: string) {
  const server = createServer((request, response) => {
    const origin = `http://${request.headers.host}`
    const at = (name: string, path: string) => (name === named ? bad : `${origin}${path}`)
    const json = (value: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    switch (new URL(request.url ?? '', origin).pathname) {
      case '/mcp': {
        const metadata = at('resource_metadata', '/.well-known/oauth-protected-resource')
        return response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end()
      }
      case '/.well-known/oauth-protected-resource':
        return json({ resource: `${origin}/mcp`, authorization_servers: [at('authorization_servers', '')] })
      case '/.well-known/oauth-authorization-server':
        return json({
          issuer: origin,
          ...Object.fromEntries(endpoints.map((name) => [name, at(name, `/${name}`)])),
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        })
      case '/registration_endpoint':
        return json({ client_id: 'c', redirect_uris: ['http://127.0.0.1/callback'] })
      default:
        return response.writeHead(404).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, publicAddress, resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { port: address.port, origin: `http://${publicAddress}:${address.port}` }
}
