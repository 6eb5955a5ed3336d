/** `hermes checkpoints`: lists, shows, restores and removes what a gateway has kept. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkpointsConfig } from '../../src/agent/checkpoints/config.ts'
import { openCheckpoints } from '../../src/flows/environments/checkpoints.ts'
import { findProgram } from '../../src/lib/find-program.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { runInProcess } from './support.ts'

const searchPath = process.env['PATH'] ?? ''
const skip = findProgram('git', searchPath) === undefined ? 'git is not installed' : false

test('checkpoints are listed, shown, restored and removed without a gateway', { skip }, async (t) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'hermes-home-')))
  const work = realpathSync(mkdtempSync(join(tmpdir(), 'hermes-work-')))
  t.after(() => {
    for (const path of [root, work]) rmSync(path, { recursive: true, force: true })
  })
  const file = join(work, 'a.txt')
  writeFileSync(file, 'one\n')
  const values = { PATH: searchPath }
  let turn = 0
  const checkpoints = openCheckpoints({
    home: createHomeLayout(root),
    settings: () => ({ checkpoints: checkpointsConfig.checkpoints.parse({ auto_prune: false }) }),
    environment: () => ({ values }),
    log: silentLog,
  })
  const keep = () =>
    checkpoints.before(
      {
        reason: 'patch',
        session: 's',
        turn: String(turn++),
        paths: [file],
        areDirectories: false,
        mayWrite: async () => true,
        cwd: work,
      },
      new AbortController().signal,
    )
  await keep()
  writeFileSync(file, 'two\n')
  const run = (...args: string[]) => runInProcess(root, ['checkpoints', ...args], { environment: values })
  assert.match((await run('list')).stdout, / 1 .*patch/)
  assert.match((await run('show', '1', '--folder', work)).stdout, /-one\n\+two/)
  assert.match((await run('restore', '1', '--folder', work)).stdout, /restored +a\.txt/)
  assert.equal(readFileSync(file, 'utf8'), 'one\n')
  assert.match((await run('restore', '9', '--folder', work)).stderr, /checkpoints\/unknown/)
  assert.match((await run('status', '--json')).stdout, /"enabled": ?false[\s\S]*"folders": ?1/)
  assert.match((await run('clear')).stderr, /cli\/usage/)
  assert.match((await run('clear', '--folder', root, '--yes')).stderr, /checkpoints\/unknown/)
  assert.match((await run('status', '--json')).stdout, /"folders": ?1/, 'nothing was removed')
  rmSync(work, { recursive: true })
  assert.match((await run('prune', '--json')).stdout, /"folders": ?1/)
  mkdirSync(work)
  writeFileSync(file, 'one\n')
  await keep()
  assert.match((await run('clear', '--folder', work, '--yes', '--json')).stdout, /"checkpoints": ?1/)
  assert.match((await run('status', '--json')).stdout, /"folders": ?0/)
})
