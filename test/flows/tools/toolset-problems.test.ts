/**
 * Entries of toolset lists that name nothing are shown in the status: what they were to take away is still offered.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentConfig } from '../../../src/agent/config.ts'
import { createToolsetCheck } from '../../../src/flows/tools/toolset-check.ts'

function checkOf(lists: {
  readonly disabled?: readonly string[]
  readonly platform_toolsets?: Readonly<Record<string, readonly string[]>>
  readonly custom_toolsets?: Readonly<Record<string, readonly string[]>>
}) {
  const settings = {
    agent: agentConfig.agent.parse({ disabled_toolsets: lists.disabled }),
    toolsets: agentConfig.toolsets.parse(undefined),
    platform_toolsets: agentConfig.platform_toolsets.parse(lists.platform_toolsets),
    custom_toolsets: agentConfig.custom_toolsets.parse(lists.custom_toolsets),
  }
  return createToolsetCheck(
    () => settings,
    () => [],
    async () => [],
  )
}

test('each entry that names nothing is reported with its list and the most similar name', async () => {
  const check = checkOf({
    disabled: ['termnal'],
    platform_toolsets: { telegram: ['hermes-telegram', '-delegaton', 'desk'] },
    custom_toolsets: { desk: ['todo'], web: ['todo'] },
  })
  assert.deepEqual(check.problems(), [], 'not known before the plugins are loaded')
  await check.review()
  const [disabled, platform, custom, ...more] = check.problems()
  assert.match(disabled ?? '', /^agent\.disabled_toolsets: "termnal" .*"terminal"/)
  assert.match(platform ?? '', /^platform_toolsets\.telegram: "delegaton" .*"delegation"/)
  assert.match(custom ?? '', /^custom_toolsets\.web: /)
  assert.deepEqual(more, [])
})

test('lists of existing names, and no lists, are no problem', async () => {
  for (const check of [checkOf({}), checkOf({ disabled: ['browser', 'hermes-cli', 'patch'] })]) {
    await check.review()
    assert.deepEqual(check.problems(), [])
  }
})
