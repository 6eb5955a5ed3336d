/**
 * `hermes mcp`: servers are added, shown, tried and removed, and config.yaml keeps its comments.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand } from '../../src/cli/main.ts'
import { startHttpServer } from '../agent/mcp/http-server.ts'
import { sandboxSkip } from '../agent/sandbox/victim.ts'
import { removeFolder } from '../kit/remove-folder.ts'
import { assertFailed, createTestContext, homeWith, runInProcess } from './support.ts'

test('a server is added with its tools, listed, and removed with all that belongs to it', async (t) => {
  const server = await startHttpServer(t)
  const { root, configFile, mcpCache } = homeWith(t, '# mine\nhttp: {port: 0}\n')
  const added = await runInProcess(
    root,
    ['mcp', 'add', 'notes', '--url', server.url, '--header', 'X-Key: ${NOTES_KEY}'],
    {
      environment: { NOTES_KEY: 'key-1234-5678' },
    },
  )
  assert.equal(added.code, 0, added.stderr)
  assert.match(added.stdout, /mcp_notes_look/)
  const text = readFileSync(configFile, 'utf8')
  assert.match(text, /^# mine\nhttp: \{port: 0\}\nmcp_servers:\n {2}notes:\n/)
  assert.match(text, /\$\{NOTES_KEY\}/)
  assert.equal(server.requests[0]?.get('x-key'), 'key-1234-5678')
  const list = await runInProcess(root, ['mcp', 'list', '--json'], { environment: { NOTES_KEY: 'key-1234-5678' } })
  assert.partialDeepStrictEqual(JSON.parse(list.stdout), [
    { name: 'notes', state: 'on', tools: ['mcp_notes_look', 'mcp_notes_count', 'mcp_notes_wait'], problem: '' },
  ])
  const tools = await runInProcess(root, ['tools', 'list', '--json'], { environment: { NOTES_KEY: 'key-1234-5678' } })
  assert.ok(JSON.parse(tools.stdout).some(({ name }: { name: string }) => name === 'mcp-notes'))
  assert.equal((await runInProcess(root, ['mcp', 'remove', 'notes'])).code, 0)
  assert.equal(readFileSync(configFile, 'utf8'), '# mine\nhttp: {port: 0}\nmcp_servers: {}\n')
  assert.equal(existsSync(join(mcpCache, 'notes.json')), false)
})

test('a program is added with its arguments and variables as they were typed', async (t) => {
  const { root, configFile } = homeWith(t, 'model: m\n')
  const words = [
    'mcp',
    'add',
    'files',
    '--no-test',
    '--env',
    'A=1',
    '--env',
    'TOKEN',
    '--',
    'npx',
    '-y',
    'server',
    '-y',
  ]
  assert.equal((await runInProcess(root, words)).code, 0)
  assert.match(
    readFileSync(configFile, 'utf8'),
    /files:\n {4}command: npx\n {4}args:\n {6}- -y\n {6}- server\n {6}- -y\n {4}env:\n {6}A: "1"\n {6}TOKEN: \$\{TOKEN\}\n$/,
  )
})

test('a key among the arguments of a program is not shown', async (t) => {
  const { root } = homeWith(t, 'mcp_servers: {a: {command: sh, args: [--key, "${A_KEY}"]}}\n')
  const { stdout } = await runInProcess(root, ['mcp', 'list'], { environment: { A_KEY: 'key-1234-5678-9012' } })
  assert.match(stdout, /sh --key/)
  assert.doesNotMatch(stdout, /key-1234/)
  const written = homeWith(
    t,
    'mcp_servers: {a: {command: sh, args: ["--token=written-4711-8888", --api-key, other-4711-9999, --fast]}}\n',
  )
  const list = await runInProcess(written.root, ['mcp', 'list'])
  assert.match(list.stdout, /sh --token=.* --api-key .* --fast/)
  assert.doesNotMatch(list.stdout, /4711/)
})

test('a server that is no server is not added', async (t) => {
  const { root, configFile } = homeWith(t, 'model: m\n')
  assertFailed(await runInProcess(root, ['mcp', 'add', 'x']), 'cli/usage')
  assertFailed(await runInProcess(root, ['mcp', 'add', 'x', '--url', 'nonsense']), 'cli/usage')
  assertFailed(await runInProcess(root, ['mcp', 'add', 'x', '--url', 'http://a/', '--', 'both']), 'cli/usage')
  assertFailed(await runInProcess(root, ['mcp', 'add', 'bad name', '--url', 'http://a/']), 'cli/usage')
  assertFailed(await runInProcess(root, ['mcp', 'test', 'x']), 'cli/not-found')
  assert.equal(readFileSync(configFile, 'utf8'), 'model: m\n')
})

test('a server that cannot be reached is named by test, doctor, config check and list', async (t) => {
  const { root } = homeWith(t, 'http: {port: 0}\nmcp_servers: {gone: {command: no-such-program-here}}\n')
  assertFailed(await runInProcess(root, ['mcp', 'test', 'gone']), 'cli/failed', 'no-such-program-here')
  const doctor = await runInProcess(root, ['doctor', '--json'])
  const { findings } = JSON.parse(doctor.stdout)
  assert.ok(findings.some(({ subject, state }: Record<string, string>) => subject === 'MCP' && state === 'problem'))
  assert.match((await runInProcess(root, ['config', 'check'])).stdout, /mcp_servers\.gone\.command/)
  assert.match((await runInProcess(root, ['mcp', 'list'])).stdout, /gone.*failing/)
})

test('a login is for servers that have one', async (t) => {
  const { root } = homeWith(t, 'mcp_servers: {files: {command: sh}}\n')
  assertFailed(await runInProcess(root, ['mcp', 'login', 'files']), 'cli/usage', 'auth')
})

test('a login stores tokens, after which the server answers', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const { root } = homeWith(t, `http: {port: 0}\nmcp_servers: {notes: {url: "${server.url}", auth: oauth}}\n`)
  const before = await runInProcess(root, ['mcp', 'test', 'notes'])
  assertFailed(before, 'cli/failed', 'hermes mcp login notes')
  const context = createTestContext(root)
  context.output.on('data', (text: string) => {
    const [address] = /http:\/\/\S+\/authorize\S+/.exec(text) ?? []
    if (address !== undefined) void fetch(address)
  })
  assert.equal(await runCommand(['mcp', 'login', 'notes'], context), 0, String(context.errors.read()))
  const after = await runInProcess(root, ['mcp', 'test', 'notes', '--json'])
  assert.equal(JSON.parse(after.stdout).tools.length, 3)
})

test('the test of a server that ends at its start shows the first line of its error', async (t) => {
  const script =
    'echo "the notes file is missing" >&2; for n in 1 2 3 4 5 6 7 8 9; do echo "    at $n" >&2; done; exit 1'
  const { root } = homeWith(
    t,
    JSON.stringify({ mcp_servers: { notes: { command: '/bin/sh', args: ['-c', script], sandbox: false } } }),
  )
  const { stderr } = await runInProcess(root, ['mcp', 'test', 'notes'])
  assert.match(stderr, /the notes file is missing/)
  assert.doesNotMatch(stderr, /sandbox/)
})

const noSandbox = (await sandboxSkip('landlock')) && (await sandboxSkip('bwrap'))

test('the test of a server that cannot start in its sandbox names the sandbox', { skip: noSandbox }, async (t) => {
  const script = 'echo "the notes file is missing" >&2; exit 1'
  // It is not in a folder for temporary files, which some kinds of sandbox show.
  const root = mkdtempSync(join(import.meta.dirname, '../../.victim-'))
  t.after(() => removeFolder(root))
  const servers = { notes: { command: '/bin/sh', args: ['-c', script] } }
  writeFileSync(join(root, 'config.yaml'), JSON.stringify({ mcp_servers: servers }), { mode: 0o600 })
  const result = await runInProcess(root, ['mcp', 'test', 'notes'], {
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  })
  assertFailed(result, 'cli/failed', 'the notes file is missing')
  assert.match(result.stderr, /sandbox \((?:bwrap|landlock)\).*mcp_servers\.notes\.sandbox: off/s)
})
