import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { extractBy, searchBy, WebError } from '../../src/web/call-service.ts'
import { type ChosenService, chooseExtractService, chooseSearchService } from '../../src/web/choose-service.ts'
import { type SearchServiceName, searchServiceNames } from '../../src/web/service-names.ts'
import { searchServices } from '../../src/web/services.ts'
import { startFileServer } from '../media/file-server.ts'

const unset = { backend: '', search_backend: '', extract_backend: '' } as const

interface Asked {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

/** A service on this machine that responds with `response` and remembers the requests. */
async function startService(
  t: TestContext,
  name: SearchServiceName,
  response: unknown,
  status = 200,
): Promise<{ chosen: ChosenService; asked: Asked[] }> {
  const asked: Asked[] = []
  const { origin } = await startFileServer(t, async (reply, request) => {
    const body = await text(request)
    asked.push({ path: request.url ?? '', headers: request.headers, body: body === '' ? undefined : JSON.parse(body) })
    reply.writeHead(status, { 'content-type': 'application/json' })
    reply.end(typeof response === 'string' ? response : JSON.stringify(response))
  })
  return { chosen: { name, service: searchServices[name], address: origin, key: 'the-key' }, asked }
}

/** What each service responds to a search, as its documentation shows it, and how it is asked. */
const searches: Readonly<Record<SearchServiceName, { response: unknown; path: RegExp; key: RegExp; body?: object }>> = {
  firecrawl: {
    response: {
      success: true,
      data: { web: [{ url: 'https://a.example/', title: 'A', description: 'about a', position: 1 }] },
    },
    path: /^\/v2\/search$/,
    key: /"authorization":"Bearer the-key"/,
    body: { query: 'cats', limit: 3 },
  },
  parallel: {
    response: { search_id: 's', results: [{ url: 'https://a.example/', title: 'A', excerpts: ['about a'] }] },
    path: /^\/v1\/search$/,
    key: /"x-api-key":"the-key"/,
    body: { objective: 'cats', search_queries: ['cats'], advanced_settings: { max_results: 3 } },
  },
  tavily: {
    response: { query: 'cats', results: [{ url: 'https://a.example/', title: 'A', content: 'about a', score: 0.9 }] },
    path: /^\/search$/,
    key: /"authorization":"Bearer the-key"/,
    body: { query: 'cats', max_results: 3 },
  },
  exa: {
    response: {
      requestId: 'r',
      results: [{ url: 'https://a.example/', title: 'A', id: 'x', highlights: ['about a'] }],
    },
    path: /^\/search$/,
    key: /"x-api-key":"the-key"/,
    body: { query: 'cats', numResults: 3, contents: { highlights: true } },
  },
  'brave-free': {
    response: { type: 'search', web: { results: [{ url: 'https://a.example/', title: 'A', description: 'about a' }] } },
    path: /^\/res\/v1\/web\/search\?q=cats&count=3&/,
    key: /"x-subscription-token":"the-key"/,
  },
  searxng: {
    response: {
      results: [
        { url: 'https://b.example/', title: 'B', content: 'about b', score: 0.1 },
        { url: 'https://a.example/', title: 'A', content: 'about a', score: 3 },
      ],
    },
    path: /^\/search\?q=cats&format=json/,
    key: /./,
  },
}

for (const name of searchServiceNames)
  test(`${name} is asked as its API wants it, and its results are understood`, async (t) => {
    const { response, path, key, body } = searches[name]
    const { chosen, asked } = await startService(t, name, response)
    const [hit] = await searchBy(chosen, 'cats', 3, t.signal)
    assert.deepEqual(hit, { title: 'A', url: 'https://a.example/', description: 'about a' })
    assert.match(asked[0]?.path ?? '', path)
    assert.match(JSON.stringify(asked[0]?.headers), key)
    assert.deepEqual(asked[0]?.body, body)
  })

test('more results than asked for are left out, and none is no error', async (t) => {
  const results = Array.from({ length: 30 }, (_, index) => ({
    url: `https://${index}.example/`,
    title: '',
    content: '',
  }))
  const many = await startService(t, 'tavily', { results })
  assert.equal((await searchBy(many.chosen, 'cats', 3, t.signal)).length, 3)
  const none = await startService(t, 'brave-free', { type: 'search' })
  assert.deepEqual(await searchBy(none.chosen, 'cats', 3, t.signal), [])
})

test('a service that fails says why in words', async (t) => {
  const codeOf = async (response: unknown, status = 200) => {
    const { chosen } = await startService(t, 'tavily', response, status)
    const failed = await searchBy(chosen, 'cats', 3, t.signal).catch((error: unknown) => error)
    assert.ok(failed instanceof WebError, `${failed}`)
    assert.doesNotMatch(failed.message, /the-key/)
    return failed.code
  }
  assert.equal(await codeOf({}, 401), 'key_refused')
  assert.equal(await codeOf({}, 429), 'limited')
  assert.equal(await codeOf({}, 500), 'service_failed')
  assert.equal(await codeOf('<html>'), 'bad_response')
  assert.equal(await codeOf({ results: 'none' }), 'bad_response')
  assert.equal(await codeOf(`"${'x'.repeat(11 * 1_048_576)}"`), 'bad_response')
  const gone = { name: 'exa', service: searchServices.exa, address: 'http://127.0.0.1:9', key: 'k' } as const
  await assert.rejects(searchBy(gone, 'cats', 3, t.signal), { code: 'unreachable' })
})

test('a redirect does not take the key to another server', async (t) => {
  const other = await startFileServer(t, (reply) => reply.end('{"results":[]}'))
  const { origin } = await startFileServer(t, (reply) => {
    reply.writeHead(307, { location: `${other.origin}/search` }).end()
  })
  const chosen = { name: 'tavily', service: searchServices.tavily, address: origin, key: 'the-key' } as const
  await assert.rejects(searchBy(chosen, 'cats', 3, t.signal), { code: 'unreachable' })
  assert.equal(other.requests.length, 0)
})

test('services read pages, and say which they could not read', async (t) => {
  const pages: readonly [SearchServiceName, unknown][] = [
    [
      'firecrawl',
      { success: true, data: { markdown: '# A', metadata: { title: 'A', sourceURL: 'https://a.example/' } } },
    ],
    ['parallel', { results: [{ url: 'https://a.example/', title: 'A', full_content: '# A' }], errors: [] }],
    ['tavily', { results: [{ url: 'https://a.example/', title: 'A', raw_content: '# A' }], failed_results: [] }],
    ['exa', { results: [{ url: 'https://a.example/', title: 'A', text: '# A' }], statuses: [] }],
  ]
  for (const [name, response] of pages) {
    const { chosen } = await startService(t, name, response)
    const found = await extractBy(chosen, ['https://a.example/'], t.signal)
    assert.deepEqual(found, [{ url: 'https://a.example/', title: 'A', content: '# A' }], name)
  }
  const failed = { results: [], failed_results: [{ url: 'https://a.example/', error: 'no access' }] }
  const { chosen } = await startService(t, 'tavily', failed)
  assert.equal((await extractBy(chosen, ['https://a.example/'], t.signal))[0]?.error, 'no access')
  await assert.rejects(extractBy({ ...chosen, service: searchServices.searxng }, ['https://a.example/'], t.signal), {
    code: 'not_supported',
  })
})

test('without a choice, the first service whose key is set searches', () => {
  const nameOf = (settings: Parameters<typeof chooseSearchService>[0], variables: Record<string, string>) => {
    const choice = chooseSearchService(settings, variables)
    return choice === undefined || 'missing' in choice ? choice : choice.name
  }
  assert.equal(nameOf(unset, {}), undefined)
  assert.equal(nameOf(unset, { EXA_API_KEY: 'k' }), 'exa')
  assert.equal(nameOf(unset, { EXA_API_KEY: 'k', TAVILY_API_KEY: 'k' }), 'tavily')
  assert.equal(nameOf(unset, { SEARXNG_URL: 'http://127.0.0.1:8080/' }), 'searxng')
  assert.equal(nameOf(unset, { FIRECRAWL_API_URL: 'http://127.0.0.1:3002' }), 'firecrawl')
  assert.equal(nameOf({ ...unset, backend: 'exa' }, { EXA_API_KEY: 'k', TAVILY_API_KEY: 'k' }), 'exa')
  assert.deepEqual(nameOf({ ...unset, backend: 'exa' }, { TAVILY_API_KEY: 'k' }), { missing: 'EXA_API_KEY' })
})

test('pages are read by the gateway unless a service is named that reads pages', () => {
  const nameOf = (settings: Partial<Parameters<typeof chooseExtractService>[0]>) => {
    const choice = chooseExtractService({ ...unset, ...settings }, { TAVILY_API_KEY: 'k', BRAVE_SEARCH_API_KEY: 'k' })
    return choice === undefined || 'missing' in choice ? choice : choice.name
  }
  assert.equal(nameOf({}), undefined)
  assert.equal(nameOf({ backend: 'tavily' }), 'tavily')
  assert.equal(nameOf({ backend: 'tavily', extract_backend: 'local' }), undefined)
  assert.equal(nameOf({ backend: 'brave-free' }), undefined)
  assert.deepEqual(nameOf({ extract_backend: 'exa' }), { missing: 'EXA_API_KEY' })
})
