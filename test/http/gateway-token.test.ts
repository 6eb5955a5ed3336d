/**
 * The token file on a real disk.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { openGatewayToken, readGatewayToken } from '../../src/http/gateway-token.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import { recordingLog } from './support.ts'

function newHome(t: TestContext): { home: string; file: string } {
  const home = mkdtempSync(join(tmpdir(), 'hermes-token-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  return { home, file: join(home, 'gateway.token') }
}

it('the first start creates a token of 32 random bytes that only the owner can read', (t) => {
  const { home, file } = newHome(t)
  const token = openGatewayToken(home, undefined, silentLog)
  assert.match(token(), /^[A-Za-z0-9_-]{43}$/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(home), ['gateway.token'])
  assert.equal(readGatewayToken(home), token())
})

it('later starts keep the token, and two homes have different tokens', (t) => {
  const { home } = newHome(t)
  const first = openGatewayToken(home, undefined, silentLog)()
  assert.equal(openGatewayToken(home, undefined, silentLog)(), first)
  assert.notEqual(openGatewayToken(newHome(t).home, undefined, silentLog)(), first)
})

it('a token that is replaced while the gateway runs is valid from that moment', (t) => {
  const { home, file } = newHome(t)
  const token = openGatewayToken(home, undefined, silentLog)
  const before = token()
  writeFileSync(file, 'a-token-made-by-a-password-manager\n')
  assert.equal(token(), 'a-token-made-by-a-password-manager')
  assert.notEqual(token(), before)
})

it('a file that other users can read is restricted to its owner, with a warning that does not show the token', (t) => {
  const { home, file } = newHome(t)
  writeFileSync(file, 'token-that-was-readable-by-all\n')
  chmodSync(file, 0o644)
  const { log, lines } = recordingLog()
  assert.equal(openGatewayToken(home, undefined, log)(), 'token-that-was-readable-by-all')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['warn'],
  )
  assert.ok(!JSON.stringify(lines).includes('readable-by-all'))
})

for (const [what, content] of [
  ['an empty', ''],
  ['a blank', ' \n'],
  ['a short', 'secret'],
  ['a two-line', 'first-line-of-the-token\nsecond-line-of-the-token'],
  ['a non-ASCII', 'gehäuse-mit-umlauten-für-alle'],
] as const) {
  it(`${what} token file is an error and is not overwritten`, (t) => {
    const { home, file } = newHome(t)
    writeFileSync(file, content, { mode: 0o600 })
    assert.throws(
      () => openGatewayToken(home, undefined, silentLog),
      (error) => error instanceof HermesError && error.code === 'http/token-unusable' && error.message.includes(file),
    )
    assert.equal(readFileSync(file, 'utf8'), content)
  })
}

it('without the token file a running gateway refuses access', (t) => {
  const { home, file } = newHome(t)
  const token = openGatewayToken(home, undefined, silentLog)
  rmSync(file)
  assert.throws(token, { code: 'http/token-unusable' })
})

it('http.token of the config replaces the file, which is not changed', (t) => {
  const { home } = newHome(t)
  const token = openGatewayToken(home, 'the-token-of-the-config', silentLog)
  assert.equal(token(), 'the-token-of-the-config')
  assert.deepEqual(readdirSync(home), [])
})

it('a home that does not exist is an error', (t) => {
  const { home } = newHome(t)
  const missing = join(home, 'missing')
  assert.throws(() => openGatewayToken(missing, undefined, silentLog), { code: 'http/token-unusable' })
})
