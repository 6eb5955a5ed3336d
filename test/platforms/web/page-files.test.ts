/**
 * The page itself: what is served without a token, and what it may do in the browser.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startGateway } from './support.ts'

test('the page is public, because it contains no secret', async () => {
  const { request } = await startGateway()
  const page = await request('/')
  assert.equal(page.status, 200)
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(await page.text(), /<title>Hermes<\/title>/)
})

test("the content security policy allows only the page's own files", async () => {
  const { request } = await startGateway()
  const page = await request('/')
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.ok(policy.startsWith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"))
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
  const html = await page.text()
  assert.doesNotMatch(html, /<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|(?:src|href)="(?!\/assets\/|#)/)
})

test('every file of the page is served with its content type', async () => {
  const { request } = await startGateway()
  const html = await (await request('/')).text()
  const names = [...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, name]) => name ?? '')
  assert.ok(names.length >= 10)
  for (const name of names) {
    const file = await request(name)
    assert.equal(file.status, 200, name)
    const expected = name.endsWith('.css') ? /^text\/css/ : name.endsWith('.svg') ? /^image\/svg/ : /^text\/javascript/
    assert.match(file.headers.get('content-type') ?? '', expected, name)
  }
})

/** The files that one needs before it runs: those that it imports, and those that these import. */
async function withImports(
  request: (path: string) => Promise<Response>,
  names: readonly string[],
): Promise<Set<string>> {
  const found = new Set(names)
  for (const name of found) {
    if (!name.endsWith('.js')) continue
    const text = await (await request(name)).text()
    for (const [, path = ''] of text.matchAll(/^(?:import|export)\b[^'"]*?from\s*['"](\.[^'"]+)['"]/gm))
      found.add(new URL(path, `http://localhost${name}`).pathname)
  }
  return found
}

test('the first paint takes at most 60 kB, and the page without formulas and diagrams 250 kB', async () => {
  const { request } = await startGateway()
  const html = await (await request('/')).text()
  const styles = [...html.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map(([, name]) => name ?? '')
  const bytes = async (names: Iterable<string>) => {
    let sum = 0
    for (const name of names) {
      const response = await request(name, { headers: { 'accept-encoding': 'gzip' } })
      assert.equal(response.status, 200, name)
      assert.equal(response.headers.get('content-encoding'), 'gzip', name)
      sum += (await response.arrayBuffer()).byteLength
    }
    return sum
  }
  const first = await bytes(await withImports(request, ['/', ...styles, '/assets/app.js']))
  assert.ok(first <= 60_000, `the first paint takes ${first} bytes`)

  const folder = fileURLToPath(new URL('../../../platforms/web/page/', import.meta.url))
  const own = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.d)\.(?:js|css|svg)$/.test(name) || name === 'index.html')
    .map((name) => (name === 'index.html' ? '/' : `/assets/${name}`))
  const all = await bytes(await withImports(request, own))
  assert.ok(all <= 250_000, `the page takes ${all} bytes`)
})

test('an unchanged file is not sent again', async () => {
  const { request } = await startGateway()
  const first = await request('/assets/app.js')
  const etag = first.headers.get('etag') ?? ''
  assert.equal(first.headers.get('cache-control'), 'no-cache')
  const second = await request('/assets/app.js', { headers: { 'if-none-match': etag } })
  assert.equal(second.status, 304)
  assert.equal(await second.text(), '')
})

test('marked.js is the installed package and needs no bundler', async () => {
  const { request } = await startGateway()
  const served = await (await request('/assets/marked.js')).text()
  const { version } = JSON.parse(await readFile(new URL(import.meta.resolve('marked/package.json')), 'utf8'))
  assert.match(served, new RegExp(`marked v${version.replaceAll('.', '\\.')}`))
  assert.match(served, /export\{[^}]*\bLexer\b/)
  assert.doesNotMatch(served, /\bimport\b[^.(]|node:/)
})

for (const path of [
  'tsconfig.json',
  'markdown-lexer.d.ts',
  'markdown-modules.js',
  '../adapter.ts',
  '%2e%2e/adapter.ts',
  'view/../../hub.js',
  'nothing.js',
]) {
  test(`nothing but files for the browser can be fetched: ${path}`, async () => {
    const { request } = await startGateway()
    assert.equal((await request(`/assets/${path}`)).status, 404)
  })
}
