import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSessionSetting, readSessionSettings } from '../../src/sessions/session-state.ts'
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
