/**
 * The first start of child processes: many at once, in a folder of the gateway that does not exist yet. Servers have tests of their
 * own (`mcp-first-start.test.ts`).
 */
import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startChromium } from '../../src/agent/browser/chromium-process.ts'
import { runProgram } from '../../src/hooks/run-program.ts'
import type { HostLanguage } from '../../src/hosts/contract.ts'
import { createHost } from '../../src/hosts/host.ts'
import { prepareProcessFolder } from '../../src/lib/files.ts'
import { createHomeLayout, prepareHome } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { path, python, withoutPython } from '../hosts/support.ts'
import { tempHome } from '../kit/temp-home.ts'

const ten = Array.from({ length: 10 }, (_, index) => index)

const newFolder = (t: TestContext) => join(tempHome(t), 'new', 'home')

test('ten hook programs that start at once in a new home all run, and the home is private', async (t) => {
  const cwd = newFolder(t)
  const results = await Promise.all(
    ten.map(() =>
      runProgram({ argv: ['/bin/sh', '-c', 'pwd'], input: '', env: { PATH: path }, cwd, timeoutMs: 60_000 }),
    ),
  )
  for (const { stdout, failure } of results) assert.deepEqual([stdout.trim(), failure], [cwd, ''])
  assert.equal(statSync(cwd).mode & 0o777, 0o700)
})

test('a hook program that does not exist is named', async (t) => {
  const cwd = newFolder(t)
  const { failure } = await runProgram({
    argv: ['no-such-program'],
    input: '',
    env: { PATH: path },
    cwd,
    timeoutMs: 60_000,
  })
  assert.match(`${failure}`, /^there is no program no-such-program/)
})

test('a hook program that this user may not run is named', async (t) => {
  const cwd = newFolder(t)
  const folder = tempHome(t)
  writeFileSync(join(folder, 'a-tool'), '', { mode: 0o600 })
  const start = (program: string) =>
    runProgram({ argv: [program], input: '', env: { PATH: folder }, cwd, timeoutMs: 60_000 })
  assert.equal((await start('a-tool')).failure, 'there is no program a-tool that may be run')
  assert.match(`${(await start(join(folder, 'a-tool'))).failure}`, /a-tool cannot be run: permission denied/)
})

const handlers: Readonly<Record<HostLanguage, { file: string; text: string; skip: string | false }>> = {
  node: { file: 'handler.mjs', text: 'export const handle = () => process.cwd()', skip: false },
  python: { file: 'handler.py', text: 'import os\ndef handle():\n    return os.getcwd()\n', skip: withoutPython },
}

for (const language of ['node', 'python'] as const) {
  const { file, text, skip } = handlers[language]
  test(`ten processes for handlers in ${language} that start at once in a new home all run`, { skip }, async (t) => {
    const cwd = newFolder(t)
    const handler = join(tempHome(t), file)
    writeFileSync(handler, text)
    const hosts = ten.map((index) =>
      createHost({
        name: `host ${index}`,
        language,
        modules: [{ name: 'a', path: handler }],
        env: { PATH: path },
        cwd,
        log: silentLog,
        limits: { startTimeoutMs: 60_000 },
        ...(language === 'python' && python !== undefined ? { command: python } : {}),
      }),
    )
    t.after(() => Promise.all(hosts.map((host) => host.stop())))
    const results = await Promise.all(hosts.map((host) => host.call({ module: 'a', args: [] })))
    assert.deepEqual(
      results.map((result) => (result.ok ? result.value : result.failure.error.message)),
      ten.map(() => cwd),
    )
  })
}

test('a browser that cannot start says whether its program or its profile is missing', async (t) => {
  const profile = tempHome(t)
  const start = (options: { executablePath: string; profile: string }) =>
    startChromium({ ...options, args: [], env: {}, onFlood: () => undefined }).exited
  const executablePath = join(profile, 'chromium')
  assert.equal(await start({ executablePath, profile }), `there is no program ${executablePath}`)
  const missing = join(profile, 'missing')
  assert.equal(
    await start({ executablePath: process.execPath, profile: missing }),
    `the working directory ${missing} does not exist`,
  )
})

test('only folders of the gateway are created for a process', (t) => {
  const home = createHomeLayout(newFolder(t))
  prepareHome(home)
  prepareProcessFolder(home, home.workspace)
  assert.equal(statSync(home.workspace).mode & 0o777, 0o700)
  const typo = join(home.root, 'worksapce')
  prepareProcessFolder(home, typo)
  assert.throws(() => statSync(typo), { code: 'ENOENT' })
})
