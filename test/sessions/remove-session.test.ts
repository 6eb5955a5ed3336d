/**
 * A removed session leaves nothing behind, and its copies stay whole.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { copySession } from '../../src/sessions/conversation-edits.ts'
import { removeLongTexts, removeMessages, removeSession } from '../../src/sessions/remove-session.ts'
import { beginEpoch, type EpochOptions } from '../../src/sessions/session-state.ts'
import { appendMessage, freezePrompt, readTranscript } from '../../src/sessions/transcript.ts'
import { openStore } from '../kit/open-store.ts'

const text = `begin ${'long '.repeat(20_000)}end`

test('a long text goes with the last session that has it', async (t) => {
  const { store, path } = openStore(t)
  const visit: EpochOptions = { key: 'k', source: '{}', platform: 'p', userId: 'u', newSessionId: 'one', now: 1 }
  await store.run(() => beginEpoch(visit))
  await store.run(() => freezePrompt('one', { text: 'prompt' }))
  for (const ord of [0, 1])
    await store.run(() =>
      appendMessage(
        { sessionId: 'one', turnId: null, ord, message: { role: 'user', content: ord === 0 ? text : 'b' } },
        1,
      ),
    )
  await store.run(() => copySession({ ...visit, newSessionId: 'two' }, 'one', ''))

  const remove = async (id: string) => {
    await store.run(() => removeLongTexts(id))
    assert.equal(await store.run(() => removeMessages(id, 1)), 1)
    assert.equal(await store.run(() => removeMessages(id, 10)), 1)
    await store.run(() => removeSession(id))
  }
  await remove('one')
  const [kept] = await store.run(() => readTranscript('two'))
  assert.equal(kept?.message.content, text)
  await remove('two')
  const db = new DatabaseSync(path, { readOnly: true })
  t.after(() => db.close())
  const count = (table: string) => Number(db.prepare(`select count(*) as n from ${table}`).get()?.['n'])
  assert.deepEqual(['sessions', 'messages', 'texts', 'prompts', 'messages_fts_docsize'].map(count), [0, 0, 0, 0, 0])
})
