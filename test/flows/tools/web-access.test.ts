import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { AuxiliaryRequest } from '../../../src/agent/models/auxiliary.ts'
import { ModelError } from '../../../src/agent/models/provider.ts'
import { createWebAccess, type WebAccessDeps } from '../../../src/flows/tools/web-access.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { noUsage } from '../../../src/message/transcript.ts'
import { scriptedProvider } from '../../kit/scripted-provider.ts'
import { closedAddresses, loopbackHosts } from '../../media/closed-addresses.ts'
import { startFileServer } from '../../media/file-server.ts'

const secret = 'sk-0123456789abcdef'
const unset = { backend: '', search_backend: '', extract_backend: '' } as const

/** @param summary what the auxiliary model writes; without it, the model fails */
function open(deps: Partial<WebAccessDeps> = {}, summary?: string) {
  const asked: AuxiliaryRequest[] = []
  const web = createWebAccess(
    {
      settings: () => ({ web: unset, security: { allow_private_urls: false } }),
      variables: () => ({}),
      auxiliary: (task) => ({
        isConfigured: async () => false,
        async complete(request) {
          assert.equal(task, 'web_extract')
          asked.push(request)
          if (summary === undefined) throw new ModelError('invalid-request', 'no model')
          const provider = scriptedProvider([])
          return { text: summary, toolCalls: [], usage: noUsage, finishReason: 'stop', model: 'small', provider }
        },
      }),
      redact: (text) => text.replaceAll(secret, '[REDACTED]'),
      log: silentLog,
      ...deps,
    },
    {},
  )
  return { web, asked }
}

const onLoopback = { addresses: { isAllowed: (address: string) => address === '127.0.0.1' } }

/** A server on this machine that may be read, and what reading its pages returns. */
async function read(
  t: TestContext,
  answer: (response: ServerResponse, path: string) => void,
  { paths = ['/'], summary }: { paths?: readonly string[]; summary?: string } = {},
) {
  const { origin } = await startFileServer(t, (response, request) => answer(response, request.url ?? ''))
  const { web, asked } = open(onLoopback, summary)
  const pages = await web.read(
    paths.map((path) => `${origin}${path}`),
    t.signal,
  )
  return { pages, asked, origin }
}

const html = (response: ServerResponse, body: string, type = 'text/html; charset=utf-8') => {
  response
    .writeHead(200, { 'content-type': type })
    .end(`<html><head><title>T</title></head><body>${body}</body></html>`)
}

test('a page becomes Markdown, also after a redirect', async (t) => {
  const { pages, origin } = await read(t, (response, path) => {
    if (path === '/') response.writeHead(302, { location: '/new' }).end()
    else html(response, '<main><h1>Hello</h1><p>World</p></main>')
  })
  assert.deepEqual(pages, [{ url: `${origin}/`, title: 'T', content: '# Hello\n\nWorld' }])
})

test('text and JSON are read as they are, in the charset that the server names', async (t) => {
  const { pages } = await read(
    t,
    (response, path) => {
      if (path === '/json') response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}')
      else response.writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(Buffer.from([0xe4]))
    },
    { paths: ['/json', '/latin'] },
  )
  assert.deepEqual(
    pages.map(({ content }) => content),
    ['{"a":1}', 'ä'],
  )
})

/** One page with a line of text. */
function pdfFile(): Buffer {
  const stream = 'BT /F1 18 Tf 20 100 Td (Hello from a PDF) Tj ET'
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  const body = objects.map((text, index) => `${index + 1} 0 obj\n${text}\nendobj\n`).join('')
  return Buffer.from(`%PDF-1.4\n${body}trailer << /Size 6 /Root 1 0 R >>\n%%EOF`)
}

test('a PDF file is read as text, whatever type its server names', async (t) => {
  const { pages } = await read(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(pdfFile())
  })
  assert.match(pages[0]?.content ?? '', /Hello from a PDF/)
})

test('what cannot be read says why, and the other pages are read all the same', async (t) => {
  const { pages } = await read(
    t,
    (response, path) => {
      if (path === '/picture') response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(10))
      else if (path === '/gone') response.writeHead(404).end()
      else if (path === '/damaged') response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF-1.4 no')
      else html(response, '<p>fine</p>')
    },
    { paths: ['/picture', '/gone', '/damaged', '/fine'] },
  )
  assert.deepEqual(
    pages.map(({ error, content }) => (error === undefined ? content : 'error')),
    ['error', 'error', 'error', 'fine'],
  )
  assert.match(pages[1]?.error ?? '', /404/)
})

test('a file above the limit is not read', async (t) => {
  const { pages } = await read(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': String(20 * 1_048_576) }).end()
  })
  assert.match(pages[0]?.error ?? '', /10 MB/)
})

test('of a page of many megabytes the beginning is read', async (t) => {
  const { pages } = await read(t, (response) => html(response, `<p>the beginning</p>${'<p>x</p>'.repeat(500_000)}`))
  assert.match(pages[0]?.content ?? '', /the beginning/)
})

test('no address on this machine or its network is read, also behind a redirect', async (t) => {
  const { web } = open()
  const hosts = [...loopbackHosts, ...closedAddresses.map((one) => (one.includes(':') ? `[${one}]` : one))]
  const pages = await web.read(
    [
      ...hosts.map((host) => `http://${host}/latest/meta-data/`),
      'file:///etc/passwd',
      'data:text/plain,x',
      'http://u:p@a.example/',
    ],
    t.signal,
  )
  assert.ok(pages.length > 60)
  for (const { url, error, content } of pages) assert.ok(error !== undefined && content === '', url)
  const behind = await read(t, (response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end()
  })
  assert.notEqual(behind.pages[0]?.error, undefined)
})

test('a service is not asked to read such addresses either', async (t) => {
  const service = await startFileServer(t, (response) => response.end('{"results":[]}'))
  const { web } = open({
    settings: () => ({ web: { ...unset, extract_backend: 'tavily' }, security: { allow_private_urls: false } }),
    variables: () => ({ TAVILY_API_KEY: 'k', TAVILY_API_URL: service.origin }),
    addresses: {
      resolve: async (name) => [{ address: name === 'intranet.example' ? '192.168.0.9' : '93.184.216.34', family: 4 }],
    },
  })
  const urls = [
    ...['http://127.0.0.1/', 'http://printer.local/', 'http://[::1]/', 'file:///etc/passwd'],
    ...['http://intranet.example/', 'http://localhost./'],
  ]
  const pages = await web.read(urls, t.signal)
  assert.equal(service.requests.length, 0)
  assert.deepEqual(pages.map(({ url }) => url).sort(), urls.sort())
  const [missing] = await web.read(['https://a.example/'], t.signal)
  assert.notEqual(missing?.error, undefined)
})

test('a secret leaves neither in an address nor in a query', async (t) => {
  const { requests, origin } = await startFileServer(t, (response) => response.end('x'))
  const { web } = open({ ...onLoopback, variables: () => ({ SEARXNG_URL: origin }) })
  const [page] = await web.read([`${origin}/?q=${secret}`], t.signal)
  assert.notEqual(page?.error, undefined)
  await assert.rejects(web.search(`what is ${secret}`, 5, t.signal), { code: 'secret' })
  assert.equal(requests.length, 0)
})

test('a long page is summarised by the model for it', async (t) => {
  const long = `<main><h1>A</h1><p>${'word '.repeat(4_000)}</p></main>`
  const { pages, asked } = await read(t, (response) => html(response, long), { summary: 'The summary.' })
  assert.equal(pages[0]?.content, 'The summary.')
  assert.match(pages[0]?.note ?? '', /summary/i)
  assert.match(JSON.stringify(asked[0]?.input.messages), /word word/)
})

test('without a model for summaries, the beginning of a long page is used', async (t) => {
  const { pages } = await read(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('line\n'.repeat(10_000))
  })
  assert.equal(pages[0]?.content.length, 5_000)
  assert.match(pages[0]?.note ?? '', /50000/)
})

test('a missing key of a configured service is named', async (t) => {
  const { web } = open({
    settings: () => ({ web: { ...unset, search_backend: 'exa' }, security: { allow_private_urls: false } }),
  })
  await assert.rejects(web.search('cats', 5, t.signal), /EXA_API_KEY/)
  await assert.rejects(open().web.search('cats', 5, t.signal), { code: 'not_configured' })
})

test('with security.allow_private_urls pages of the own network are read, and metadata services never', async (t) => {
  const { origin } = await startFileServer(t, (response) => response.end('of the own network'))
  const settings = () => ({ web: unset, security: { allow_private_urls: true } })
  const { web } = open({ settings })
  const [page] = await web.read([origin], t.signal)
  assert.equal(page?.content, 'of the own network')
  const services = ['169.254.169.254', '169.254.170.23', '100.100.100.200', '168.63.129.16', '[::ffff:a9fe:a9fe]']
  const services6 = ['[fd00:ec2::254]', '[fd00:ec2::23]', '[fd20:ce::254]', '[fd00:42::42]', '[fe80::a9fe:a9fe]']
  const metadata = [...services, ...services6].map((host) => `http://${host}/latest/meta-data/`)
  for (const { url, error } of await web.read(metadata, t.signal)) assert.match(`${error}`, /not public/, url)
  const [closed] = await open().web.read([origin], t.signal)
  assert.match(`${closed?.error}`, /not public/)
})

test('no redirect and no name leads to a metadata service, also with security.allow_private_urls', async (t) => {
  const { origin } = await startFileServer(t, (response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
  })
  const resolve = async () => [{ address: '169.254.169.254', family: 4 }]
  const settings = () => ({ web: unset, security: { allow_private_urls: true } })
  const { web } = open({ settings, addresses: { resolve } })
  const pages = await web.read([origin, 'http://metadata.google.internal/'], t.signal)
  for (const { error } of pages) assert.match(`${error}`, /not public/)
})
