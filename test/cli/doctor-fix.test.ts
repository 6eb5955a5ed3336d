/**
 * `hermes doctor --fix`.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { runCommand } from '../../src/cli/main.ts'
import { writePidFile } from '../../src/lib/pid-file.ts'
import { collectRestore } from '../../src/store/sqlite/restore.ts'
import { seedHome } from './seed-home.ts'
import { assertFailed, createTestContext, hermes, homeWith, quietConfig, runInProcess, startDaemon } from './support.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777

async function brokenHome(t: TestContext) {
  const home = homeWith(t)
  await seedHome(home)
  const work = join(home.root, 'work')
  writeFileSync(home.configFile, quietConfig.replace('{sandbox: off}', `{sandbox: off, cwd: ${work}}`))
  writeFileSync(home.envFile, 'OPENAI_API_KEY=sk-0123456789\n')
  writeFileSync(home.authFile, '{}')
  writeFileSync(home.tokenFile, 'a-token-of-a-test-0123456789\n')
  for (const path of [home.envFile, home.authFile, home.tokenFile, home.databaseFile]) chmodSync(path, 0o644)
  chmodSync(home.root, 0o755)
  const { pid = 0 } = spawnSync('true')
  writePidFile(home, { pid, url: 'http://127.0.0.1:9' })
  const copy = `${home.databaseFile}.copy-${pid}`
  writeFileSync(copy, '')
  collectRestore(home)
  return { home, work, copy }
}

test('doctor --fix says what it will do, does it, and checks again', async (t) => {
  const { home, work, copy } = await brokenHome(t)
  const options = { home: home.root }
  const before = await hermes(t, ['doctor', '--offline'], options)
  assert.match(before.stdout, /hermes doctor --fix.* can fix (?:9|10) of them/)
  assert.ok(existsSync(copy), 'without --fix nothing changes')

  const { stdout, stderr } = await hermes(t, ['doctor', '--offline', '--fix', '--yes', '--json'], options)
  for (const path of [home.envFile, home.databaseFile]) {
    assert.ok(stderr.includes(`  - run chmod 600 ${path}\n`), stderr)
    assert.equal(modeOf(path), 0o600)
  }
  assert.equal(modeOf(home.authFile), 0o600)
  assert.equal(modeOf(home.root), 0o700)
  assert.ok(statSync(work).isDirectory())
  for (const path of [home.tokenFile, home.pidFile, copy, home.restore]) assert.equal(existsSync(path), false, path)
  const { findings }: { findings: { fix?: string }[] } = JSON.parse(stdout)
  assert.deepEqual(
    findings.filter(({ fix }) => fix !== undefined),
    [],
  )
  const again = await hermes(t, ['doctor', '--offline', '--fix'], options)
  assert.match(again.stderr, /nothing that doctor can fix/)
})

test('doctor --fix asks, and changes nothing without a yes', async (t) => {
  const { home, copy } = await brokenHome(t)
  assertFailed(await runInProcess(home.root, ['doctor', '--offline', '--fix']), 'cli/usage', '--yes')
  assert.ok(existsSync(copy))
  for (const answer of ['n', 'y']) {
    const input = Object.assign(new PassThrough(), { isTTY: true as const })
    const context = { ...createTestContext(home.root), input }
    input.write(`${answer}\n`)
    await runCommand(['doctor', '--offline', '--fix'], context)
    assert.equal(existsSync(copy), answer === 'n')
  }
})

test('doctor --fix keeps the token of a running gateway, and creates no folder with a wrong parent', async (t) => {
  const home = homeWith(t, quietConfig.replace('{sandbox: off}', '{sandbox: off, cwd: /nowhere/at/all}'))
  await startDaemon(t, home.root)
  chmodSync(home.tokenFile, 0o644)
  mkdirSync(home.mcpTokens)
  writeFileSync(join(home.mcpTokens, 'a.json'), '{}', { mode: 0o644 })
  const { stdout } = await hermes(t, ['doctor', '--offline', '--fix', '--yes'], { home: home.root })
  assert.match(stdout, /✗ Token/)
  assert.match(stdout, /✗ Work folder/)
  assert.ok(existsSync(home.tokenFile))
  assert.equal(modeOf(join(home.mcpTokens, 'a.json')), 0o600)
})
