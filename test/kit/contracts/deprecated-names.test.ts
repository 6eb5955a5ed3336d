/**
 * Tests that third parties wrote for 0.1 keep running until 0.3.0.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { createFaults } from '../servers/faults.ts'
import { fakeUnderTest } from './fake-under-test.ts'
import { withCurrentNames } from './platform-under-test.ts'

test('capabilities may have their names of 0.1', async (t) => {
  const { createAnother: again, makeUnreachable: breakDown, dropResponse: loseAnswer, ...rest } = await fakeUnderTest()
  t.after(rest.close)
  const platform = withCurrentNames({ ...rest, again, breakDown, loseAnswer })
  assert.deepEqual(
    [platform.createAnother, platform.makeUnreachable, platform.dropResponse],
    [again, breakDown, loseAnswer],
  )
})

test('faults may be called by their names of 0.1', async (t) => {
  const faults = createFaults()
  const server = createServer(async (_request, response) => {
    const action = await faults.meet({ method: 'send' }, response)
    if (action === 'lose-answer') faults.cut(response)
    else if (action === 'pass') response.end()
  })
  faults.watch(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => faults.end())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const statusOf = () => fetch(`http://127.0.0.1:${port}/`).then(({ status }) => status)
  faults.answer('send', { status: 418 })
  assert.equal(await statusOf(), 418)
  faults.loseAnswer('send')
  await assert.rejects(statusOf())
  assert.equal(await statusOf(), 200)
  faults.goAway('cut')
  await assert.rejects(statusOf())
})
