/**
 * The guide names everything of a home that commands see without being asked.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolchainPaths } from '../../src/agent/sandbox/toolchains.ts'
import { textOf } from './repository.ts'

test('the guide names each toolchain that commands see, and no other', () => {
  const [, table = ''] =
    /## What commands see of your home\n([\s\S]*?)\n\n[^|]/.exec(textOf('docs/how-to/open-folders-to-the-agent.md')) ??
    []
  const named = [...table.matchAll(/`([^`]+)`/g)].map(([, name]) => name).filter((name) => name !== 'PATH')
  assert.deepEqual(named.toSorted(), toolchainPaths.toSorted())
})
