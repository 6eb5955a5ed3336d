import assert from 'node:assert/strict'
import { test } from 'node:test'
import { switchSession } from '../../src/sessions/conversation-edits.ts'
import {
  beginEpoch,
  changeSessionSetting,
  type EpochOptions,
  readSessionSettings,
  startNewSession,
} from '../../src/sessions/session-state.ts'
import { openStore } from '../kit/open-store.ts'

test('a setting of a conversation stays until it is removed, and belongs to that conversation alone', async (t) => {
  const { store } = openStore(t)
  const read = (key: string) => store.run(() => readSessionSettings(key))
  const change = (name: 'busy_input_mode' | 'footer', value: string | null) =>
    store.run(() => changeSessionSetting('agent:main:web:dm:1', name, value))
  assert.deepEqual(await read('agent:main:web:dm:1'), {})
  await change('busy_input_mode', 'queue')
  await change('footer', 'on')
  await change('busy_input_mode', 'steer')
  assert.deepEqual(await read('agent:main:web:dm:1'), { busy_input_mode: 'steer', footer: 'on' })
  await change('footer', null)
  assert.deepEqual(await read('agent:main:web:dm:1'), { busy_input_mode: 'steer' })
  assert.deepEqual(await read('agent:main:web:dm:2'), {})
})

test('an opened conversation does not begin in the directory of the one before, and a branch goes on in it', async (t) => {
  const { store } = openStore(t)
  const visit: EpochOptions = { key: 'k', source: '{}', platform: 'web', userId: 'u', newSessionId: 'one', now: 10 }
  await store.run(() => beginEpoch(visit))
  await store.run(() => startNewSession({ ...visit, newSessionId: 'two' }, ''))
  await store.run(() => changeSessionSetting('k', 'directory', '/work'))
  await store.run(() => switchSession({ ...visit, newSessionId: 'one' }, 'branch'))
  assert.deepEqual(await store.run(() => readSessionSettings('k')), { directory: '/work' })
  await store.run(() => switchSession({ ...visit, newSessionId: 'two' }, 'resume'))
  assert.deepEqual(await store.run(() => readSessionSettings('k')), {})
})
