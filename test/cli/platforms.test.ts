/**
 * `hermes platforms manifest` without a daemon. The manifest itself: test/platforms/slack/adapter.test.ts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '../stories/support.ts'
import { assertFailed, homeWith, quietConfig, runInProcess } from './support.ts'

test('the manifest for Slack has the built-in commands and those of the operator', async (t) => {
  const home = homeWith(
    t,
    `${quietConfig}quick_commands: { disk: { type: exec, command: df, description: free space } }\n`,
  )
  const { code, stdout } = await runInProcess(home.root, ['platforms', 'manifest', 'slack', '--json'])
  assert.equal(code, 0)
  assertFailed(await runInProcess(home.root, ['platforms', 'manifest', 'telegram']), 'cli/not-found')
  const listed = at(JSON.parse(stdout), 'features', 'slash_commands')
  assert.ok(Array.isArray(listed))
  const names = listed.map(({ command }) => command)
  for (const name of ['/hermes', '/hermes-status', '/hermes-stop', '/hermes-disk'])
    assert.ok(names.includes(name), name)
})
