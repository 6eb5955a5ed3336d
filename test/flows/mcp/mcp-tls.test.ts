/**
 * MCP servers with certificates of their own, and servers that want to see one (`ssl_verify`, `client_cert`, `client_key`).
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createGuardedFetch } from '../../../src/flows/mcp/guarded-fetch.ts'
import { readTls } from '../../../src/flows/mcp/mcp-tls.ts'
import { serverSettings } from '../../agent/mcp/support.ts'
import { tempHome } from '../../kit/temp-home.ts'

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'there is no openssl'

/** A server that asks for a certificate, and answers with the name in it. */
async function startTlsServer(t: TestContext) {
  const folder = tempHome(t)
  const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=lab'
  const made = spawnSync(
    'openssl',
    [...words.split(' '), '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', 'key.pem', '-out', 'cert.pem'],
    { cwd: folder },
  )
  assert.equal(made.status, 0, String(made.stderr))
  const key = readFileSync(join(folder, 'key.pem'), 'utf8')
  const cert = readFileSync(join(folder, 'cert.pem'), 'utf8')
  writeFileSync(join(folder, 'both.pem'), `${cert}${key}`)
  const server = createServer(
    { key, cert, ca: cert, requestCert: true, rejectUnauthorized: false },
    (request, response) => response.end(Reflect.get(request.socket, 'authorized') === true ? 'known' : 'unknown'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const url = `https://127.0.0.1:${address.port}/mcp`
  return async (settings: Readonly<Record<string, unknown>>) => {
    const read = serverSettings({ command: undefined, url, ...settings })
    const tls = readTls({ server: 'lab', settings: read, directory: folder, userHome: folder })
    const { fetch } = createGuardedFetch(url, tls === undefined ? {} : { tls })
    return await (await fetch(url)).text()
  }
}

test('a server is trusted by its certificate, and shown one', { skip }, async (t) => {
  const ask = await startTlsServer(t)
  await assert.rejects(ask({}), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  assert.equal(await ask({ ssl_verify: false }), 'unknown')
  assert.equal(await ask({ ssl_verify: 'cert.pem' }), 'unknown')
  assert.equal(await ask({ ssl_verify: '~/cert.pem', client_cert: 'both.pem' }), 'known')
  assert.equal(await ask({ ssl_verify: 'cert.pem', client_cert: 'cert.pem', client_key: 'key.pem' }), 'known')
  assert.equal(await ask({ ssl_verify: 'cert.pem', client_cert: ['cert.pem', 'key.pem'] }), 'known')
})

test('a file that does not exist is an error that names its key', (t) => {
  const folder = tempHome(t)
  const settings = serverSettings({ command: undefined, url: 'https://a.example', client_cert: 'no.pem' })
  const read = () => readTls({ server: 'lab', settings, directory: folder, userHome: folder })
  assert.throws(read, { code: 'unreachable', message: /mcp_servers\.lab\.client_cert: .*no\.pem .*ENOENT/ })
})
