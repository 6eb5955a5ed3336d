import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startTestGateway } from '../kit/start-gateway.ts'
import { rowsIn } from '../stories/support.ts'
import { countWork } from './work.ts'

test('probe', async (t) => {
  const gateway = await startTestGateway(t, {
    model: ({ lastUserText }) => ({ text: `re ${lastUserText}` }),
  })
  const settle = async () => {
    await setTimeout(1000)
    console.log(rowsIn(gateway.home, 'select * from outbox')[0])
  }
  const turn = async (text: string) => {
    const work = countWork()
    await gateway.say(text)
    await gateway.waitForReply(`re ${text}`)
    await settle()
    return work.stop()
  }
  const first = await turn('first')
  await turn('second')
  await turn('third')
  const later = await turn('later')
  console.log(JSON.stringify(first, null, 1).slice(0, 8000))
  console.log(JSON.stringify(later, null, 1))
})
