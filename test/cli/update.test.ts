/**
 * `hermes update` with a program in the place of npm, which installs a small package.
 */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { runCommand } from '../../src/cli/main.ts'
import { tarArchive } from '../../src/lib/tar.ts'
import { tempHome } from '../kit/temp-home.ts'
import { seedHome } from './seed-home.ts'
import { assertFailed, createTestContext, homeWith } from './support.ts'

const changelog =
  '# Changelog\n\n## 9.1.0 – today\n\n- Newer.\n\n## 9.0.0 – before\n\n- New.\n\n## 8.0.0 – long ago\n\n- Old.\n'

/** What npm would have installed is a program that prints its version. */
async function installed(t: TestContext, { broken = false } = {}) {
  const folder = tempHome(t)
  const main = join(folder, 'lib/node_modules/hermes-gateway/dist/src/main.mjs')
  mkdirSync(join(main, '..'), { recursive: true })
  writeFileSync(main, `console.log('8.0.0')`)
  const content = Buffer.from(changelog)
  const entry = {
    path: 'package/dist/CHANGELOG.md',
    size: content.length,
    content: [content],
    mode: 0o644,
    modifiedAt: 0,
  }
  writeFileSync(join(folder, 'packed'), gzipSync(Buffer.concat([...tarArchive([entry])])))
  const log = join(folder, 'calls')
  const newMain = broken ? 'throw new Error("it is broken")' : `console.log("9.1.0")`
  writeFileSync(
    join(folder, 'npm'),
    `#!/bin/sh
echo "$*" >> ${log}
pwd >> ${folder}/folders
case "$1" in
  view) echo 9.1.0 ;;
  pack) cp ${folder}/packed "$5/new.tgz"; echo new.tgz ;;
  install) case "$5" in
    *.tgz) echo '${newMain}' > ${main} ;;
    *) echo 'console.log("8.0.0")' > ${main} ;;
  esac ;;
esac
`,
  )
  chmodSync(join(folder, 'npm'), 0o755)
  const home = homeWith(t)
  await seedHome(home)
  const run = async (...words: string[]) => {
    const environment = { PATH: `${folder}:${process.env['PATH']}` }
    const context = createTestContext(home.root, { version: '8.0.0', environment })
    const code = await runCommand(['update', ...words], { ...context, program: [process.execPath, main] })
    return { code, stdout: String(context.output.read() ?? ''), stderr: String(context.errors.read() ?? '') }
  }
  const calls = () => readFileSync(log, 'utf8').trim().split('\n')
  return { home, folder, run, calls }
}

test('update shows what is new, writes a backup, installs, and says how to go back', async (t) => {
  const { home, folder, run, calls } = await installed(t)
  const check = await run('--check')
  assert.match(check.stdout, /Installed: 8\.0\.0\. To be installed: 9\.1\.0\.[\s\S]*Newer\.[\s\S]*New\./)
  assert.doesNotMatch(check.stdout, /Old\./)
  assert.equal(existsSync(home.backups), false)
  assertFailed(await run(), 'cli/usage', '--yes')
  const { code, stdout } = await run('--yes')
  assert.equal(code, 0)
  const [file = ''] = readdirSync(home.backups)
  assert.ok(stdout.includes(join(home.backups, file)))
  assert.match(stdout, /hermes update --to 8\.0\.0/)
  assert.match(calls().at(-1) ?? '', new RegExp(`^install --global --prefix ${folder} .*new\\.tgz$`))
  // In the folder of a project, npm would ask the registry that the project names.
  assert.doesNotMatch(readFileSync(join(folder, 'folders'), 'utf8'), /^(?!.*hermes-update-).+$/m)
})

test('a version that does not start is replaced by the one before', async (t) => {
  const { run, calls } = await installed(t, { broken: true })
  assertFailed(await run('--yes'), 'cli/failed', /9\.1\.0 does not start, so version 8\.0\.0 is back/)
  assert.match(calls().at(-1) ?? '', /hermes-gateway@8\.0\.0$/)
})

test('the installed version, a wrong one and another kind of installation are told apart', async (t) => {
  const { home, run } = await installed(t)
  const same = await run('--to', '8.0.0', '--yes')
  assert.deepEqual([same.code, same.stdout], [0, 'Version 8.0.0 is installed already.\n'])
  assertFailed(await run('--to', 'file:/etc', '--yes'), 'cli/usage')
  const context = createTestContext(home.root)
  const code = await runCommand(['update', '--yes'], context)
  assertFailed({ code, stderr: String(context.errors.read() ?? '') }, 'cli/failed', 'upgrade.md')
})
