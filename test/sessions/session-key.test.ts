import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionSource } from '../../src/message/source.ts'
import { isSharedSession, sessionKeyOf } from '../../src/sessions/session-key.ts'
import { plain, sessionKeyCases } from './session-key-cases.ts'

for (const { promise, source, rules = plain, key, shared = false } of sessionKeyCases) {
  test(`session key: ${promise}`, () => {
    const full: SessionSource = { platform: 'chat', account: 'default', chatId: '', chatType: 'dm', ...source }
    assert.equal(sessionKeyOf(full, rules), key)
    assert.equal(isSharedSession(full, rules), shared)
  })
}
