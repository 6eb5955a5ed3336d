import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyTodoCall, readTodoCall } from '../../../src/agent/support/todo-list.ts'
import { createWorkbench } from './workbench.ts'

const dig = { id: '1', content: 'dig', status: 'pending' } as const
const fill = { id: '2', content: 'fill', status: 'pending' } as const

test('a list replaces the one before it, and reading changes nothing', async () => {
  await using bench = await createWorkbench()
  await bench.run('todo', { todos: [dig] })
  assert.deepEqual(await bench.run('todo', { todos: [fill] }), { todos: [fill], summary: '0 of 1 done' })
  assert.deepEqual((await bench.run('todo', {}))['todos'], [fill])
})

test('merge changes the named steps, keeps the others in their order, and adds new ones at the end', async () => {
  await using bench = await createWorkbench()
  await bench.run('todo', { todos: [dig, fill] })
  const merged = await bench.run('todo', {
    todos: [
      { id: '3', content: 'rake' },
      { id: '1', status: 'completed' },
    ],
    merge: true,
  })
  assert.deepEqual(merged, {
    todos: [{ ...dig, status: 'completed' }, fill, { id: '3', content: 'rake', status: 'pending' }],
    summary: '1 of 3 done',
  })
})

test('a call that cannot be used leaves the list as it is and says why', async () => {
  await using bench = await createWorkbench()
  await bench.run('todo', { todos: [dig] })
  const many = Array.from({ length: 200 }, (_, at) => ({ id: `n${at}`, content: 'x' }))
  for (const [args, code] of [
    [{ todos: [fill, fill] }, 'duplicate_id'],
    [{ todos: [{ id: '9', status: 'completed' }], merge: true }, 'missing_content'],
    [{ todos: [{ id: '9', status: 'completed' }] }, 'missing_content'],
    [{ todos: many, merge: true }, 'too_many'],
  ] as const) {
    assert.equal((await bench.run('todo', args))['code'], code)
    assert.deepEqual((await bench.run('todo', {}))['todos'], [dig])
  }
})

test('a list is restored from calls that replaced and changed it, and from their results', () => {
  const list = readTodoCall(JSON.stringify({ todos: [dig, fill] }), [])
  const changed = readTodoCall('{"todos":[{"id":"2","status":"cancelled"}],"merge":true}', list ?? [])
  assert.deepEqual(changed, [dig, { ...fill, status: 'cancelled' }])
  assert.deepEqual(readTodoCall(JSON.stringify({ todos: changed, summary: '1 of 2 done' }), []), changed)
  for (const json of ['{}', 'no json', '{"todos":[{"id":"9"}],"merge":true}'])
    assert.equal(readTodoCall(json, [dig]), null)
  assert.deepEqual(applyTodoCall([dig], { todos: [], merge: true }), { ok: true, items: [dig] })
})
