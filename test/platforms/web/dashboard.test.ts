/**
 * The dashboard of the page, with a real gateway and a real browser.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../kit/start-gateway.ts'
import { hasResult, terminalCall } from '../../stories/support.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false
const desk = { width: 1440, height: 900 }

describe('the dashboard of the page', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser(chromium ?? '')
  })
  after(() => browser.close())

  async function open(t: TestContext, options: TestGatewayOptions = {}) {
    const gateway = await startTestGateway(t, {
      model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
      ...options,
    })
    const context = await browser.newContext({ viewport: desk, reducedMotion: 'reduce' })
    t.after(() => context.close())
    context.setDefaultTimeout(30_000)
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    const { url, token } = gateway.current()
    const visit = async (path: string) => {
      await page.goto(`${url}${path}#token=${token()}`)
      await page.waitForSelector('#app:not([hidden])')
    }
    return { gateway, page, problems, visit }
  }

  test('is reached from the conversations by keyboard, and the back button leads to them again', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await gateway.say('the train to Oslo')
    await gateway.waitForReply('You said: the train to Oslo')
    await visit('/?chat=one')
    await page.waitForSelector('#status[data-state=open]')
    await page.keyboard.press('Control+k')
    // It takes what is typed before it is loaded.
    await page.keyboard.type('dashb')
    await page.getByRole('option', { name: 'Open the dashboard' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    assert.deepEqual(await findSeriousIssues(page), [])
    await page.keyboard.press('Escape')
    await page.goBack()
    await page.waitForSelector('#composer:visible')
    assert.equal(new URL(page.url()).search, '?chat=one')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('oslo')
    await page.getByRole('option', { name: 'the train to Oslo' }).waitFor()
    assert.deepEqual(await findSeriousIssues(page), [])
    await page.getByRole('option', { name: 'the train to Oslo' }).click()
    await page.getByText('You are reading a conversation on fake.').waitFor()
    assert.deepEqual(problems, [])
  })

  test('shows what needs a person at once, and a decision there is seen in the chat', async (t) => {
    const { gateway, page, problems, visit } = await open(t, {
      capabilities: ['edit', 'buttons'],
      model: asksFirst,
      config: { roles: { owners: ['fake:user'] } },
    })
    await visit('/?view=now')
    await page.getByText('Nothing needs you.').waitFor()
    await gateway.say('delete the build')
    await page
      .getByRole('region', { name: /^Questions/ })
      .getByText('rm -r build', { exact: true })
      .waitFor()
    await page.getByRole('region', { name: 'Turns' }).getByRole('button', { name: /^Stop/ }).waitFor()
    await page.getByRole('button', { name: 'Deny: rm -r build' }).click()
    await gateway.waitForReply('as you wish')
    await page.getByText('Nothing needs you.').waitFor()
    assert.deepEqual(problems, [])
  })

  test('asks nothing while nothing changes', async (t) => {
    const { page, problems, visit } = await open(t)
    await page.clock.install()
    await visit('/?view=now')
    await page.locator('.view .rows li').first().waitFor()
    await page.waitForLoadState('load')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    // A stream without data for longer counts as lost, because the gateway has its own clock.
    await page.clock.runFor(30_000)
    assert.deepEqual(requests, [])
    assert.deepEqual(problems, [])
  })

  test('lists ten thousand dead letters in pages, and drops and retries them by keyboard', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    addDeadLetters(gateway, 10_000)
    await visit('/?view=now')
    const letters = page.getByRole('region', { name: /^Replies that were not delivered/ })
    await letters.getByText('letter 9999', { exact: true }).waitFor()
    assert.equal(await letters.getByRole('listitem').count(), 50)
    await letters.getByRole('button', { name: 'Show more' }).click()
    await letters.getByText('letter 9920', { exact: true }).waitFor()
    assert.equal(await letters.getByRole('listitem').count(), 100)
    await letters.getByRole('button', { name: 'Drop: letter 9999' }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Drop this reply?' }).getByRole('button', { name: 'Drop' }).click()
    await letters.getByText('letter 9998', { exact: true }).waitFor({ state: 'detached' })
    // The focus is on the next letter.
    await letters.locator('button[aria-label="Drop: letter 9997"]:focus').waitFor()
    const { replies } = Object(await (await gateway.http('/api/now')).json())
    assert.equal(replies.dead, 9_999)
    assert.deepEqual(problems, [])
  })

  test('people get access or are refused, and an approval is taken back, also with the keyboard', async (t) => {
    const { gateway, page, problems, visit } = await open(t, {
      config: {
        command_allowlist: ['docker restart *'],
        platforms: { fake: { allow_from: ['ada'], unauthorized_dm_behavior: 'pair' } },
      },
    })
    await visit('/?view=people')
    const asking = page.getByRole('region', { name: /^Who asks for access/ })
    await asking.getByText('No one.').waitFor()
    for (const user of ['eve', 'ben']) await gateway.say('let me in', { user, chat: user })
    await asking.getByRole('button', { name: /^Give access: ben/ }).click()
    await page
      .getByRole('region', { name: /^Who has access/ })
      .getByRole('button', { name: /^Take back: ben/ })
      .waitFor()
    // The focus is on the next person.
    await page.keyboard.press('ArrowDown')
    await asking.getByRole('button', { name: /^Refuse: eve/ }).focus()
    await page.keyboard.press('Enter')
    await asking.getByText('No one.').waitFor()
    const remembered = page.getByRole('region', { name: /^What runs without a question/ })
    await remembered.getByRole('button', { name: 'Ask again: docker restart *' }).click()
    await remembered.getByText('Nothing. Hermes asks').waitFor()
    assert.deepEqual(problems, [])
  })

  test('shows the log as it is written, filtered by the address and by the fields', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await visit('/?view=logs&event=gateway.paused')
    await page.getByText('No line matches.').waitFor()
    await gateway.post('/api/pause', { reason: 'maintenance' })
    await page.getByRole('list', { name: 'Lines of the log' }).getByRole('listitem').first().waitFor()
    await page.getByLabel('Level, and above').selectOption('error')
    await page.getByText('No line matches.').waitFor()
    // Lines that come meanwhile are read with the new filter before the address names it.
    await page.waitForURL(/level=error/)
    assert.deepEqual(problems, [])
  })

  test('draws what the models have used', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await gateway.say('hello', { user: 'ada' })
    await gateway.waitForReply('You said: hello')
    await visit('/?view=spend')
    await page.locator('.chart canvas').waitFor()
    await page.getByLabel('By', { exact: true }).selectOption('person')
    await page.getByText('fake:ada', { exact: true }).first().waitFor()
    assert.equal(new URL(page.url()).searchParams.get('by'), 'person')
    assert.deepEqual(problems, [])
  })

  for (const view of ['now', 'people', 'spend', 'logs'])
    test(`has no serious issue for assistive software at any width, in both schemes: ${view}`, async (t) => {
      const { gateway, page, problems, visit } = await open(t)
      await gateway.say('hello', { user: 'ada' })
      await gateway.waitForReply('You said: hello')
      addDeadLetters(gateway, 60)
      await gateway.post('/api/pause', { reason: 'maintenance' })
      await visit(`/?view=${view}`)
      await page.locator('.view .rows li').first().waitFor()
      for (const width of [390, 1440, 2560])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 900 })
          await page.emulateMedia({ colorScheme })
          assert.deepEqual(await findSeriousIssues(page), [], `${width} ${colorScheme}`)
          const frame = "document.querySelector('#dashboard')"
          assert.equal(await page.evaluate(`${frame}.scrollWidth - ${frame}.clientWidth`), 0, `${width}`)
        }
      assert.deepEqual(problems, [])
    })
})

/** Asks for an approval, and takes what comes. */
const asksFirst: NonNullable<TestGatewayOptions['model']> = (request) =>
  hasResult(request) ? { text: 'as you wish' } : terminalCall('rm -r build')

function addDeadLetters({ home }: TestGateway, count: number): void {
  const db = new DatabaseSync(home.databaseFile)
  const insert =
    db.prepare(`insert into outbox (key, platform, account, chat_id, thread_id, kind, op, text, state, due_at, error,
    created_at, updated_at) values (?, 'fake', 'default', 'c', '', 'reply', 'send', ?, 'dead', 0, 'chat not found', ?, ?)`)
  db.exec('begin')
  for (let number = 0; number < count; number++)
    insert.run(`letter ${number}`, `letter ${number}`, Date.now(), Date.now())
  db.exec('commit')
  db.close()
}
