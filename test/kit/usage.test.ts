import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

for (const [script, options] of [
  ['../bench/run.ts', ['--full', '--soak', '--list', '--json']],
  ['../proof.ts', ['--only', '--point', '--seeds', '--keep']],
] as const) {
  test(`--help of ${script} lists the options and starts nothing`, () => {
    const file = fileURLToPath(new URL(script, import.meta.url))
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, '--help'], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
    for (const option of options) assert.ok(stdout.includes(option), `${option} is missing in:\n${stdout}`)
  })
}
