/**
 * A newcomer on the page of a new home: from nothing to an answered message on Telegram, without a terminal.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { startTelegramServer } from '../../kit/servers/telegram-server.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false

describe('a newcomer', { skip }, () => {
  test('connects a model and a bot, becomes its owner, and is answered on Telegram', {
    timeout: 180_000,
  }, async (t) => {
    const server = await startTelegramServer()
    const gateway = await startTestGateway(t, {
      config: {
        ...{ provider: 'demo', base_url: '', api_key: '', model: '' },
        platforms: { fake: { enabled: false }, telegram: { api_root: server.url } },
      },
      model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
    })
    t.after(server.close)
    const browser = await startBrowser(chromium ?? '')
    t.after(() => browser.close())
    const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage()
    page.setDefaultTimeout(30_000)
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (line) => {
      if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) problems.push(line.text())
    })
    await page.goto(`${gateway.current().url}/#token=${gateway.current().token()}`)

    await page.getByRole('button', { name: 'Connect one' }).click()
    await page.selectOption('#connect-provider', '')
    await page.fill('#connect-address', gateway.model.baseUrl)
    await page.fill('#connect-model', 'a-model')
    await page.click('#connect-try')
    await page.click('#connect-use')
    await page.locator('#status-text', { hasText: 'a-model' }).waitFor()

    // The next step is offered once the model answers.
    await page.getByRole('button', { name: 'Connect a chat' }).click()
    const dialog = page.getByRole('dialog', { name: /^(?:Connect|Write)/ })
    await dialog.getByRole('button', { name: /^Telegram/ }).click()
    assert.deepEqual(await findSeriousIssues(page), [])
    await dialog.getByLabel('Token').fill('1:a-wrong-token-of-no-one')
    await dialog.getByRole('button', { name: 'Try it' }).click()
    await dialog.getByRole('link', { name: 'Open the page' }).nth(1).waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Connect', exact: true }).isVisible(), false)
    await dialog.getByLabel('Token').fill(server.bot.token)
    await page.keyboard.press('Enter')
    await dialog.getByText(`The token belongs to @${server.bot.username}.`).waitFor()
    await dialog.getByRole('button', { name: 'Connect', exact: true }).click()

    await dialog.getByRole('img', { name: `https://t.me/${server.bot.username}` }).waitFor()
    await dialog.getByText(/^Connected\. Say hello/).waitFor()
    assert.deepEqual(await findSeriousIssues(page), [])
    await server.bot.say('hello').confirmed
    await dialog.getByRole('button', { name: /^This is me, the owner/ }).click()
    await dialog.getByText(/is an owner/).waitFor()
    assert.match(readFileSync(gateway.home.configFile, 'utf8'), /owners[^\]]*telegram:/)
    await server.bot.say('is it noon?').confirmed
    await server.bot.chats.until(({ text }) => text === 'You said: is it noon?')

    // What is connected can be looked at and changed again.
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.click('#status')
    await page.click('#connect-chat-open')
    await dialog.getByRole('button', { name: 'Telegram connected' }).click()
    await dialog.getByRole('button', { name: 'Check it' }).click()
    await dialog.getByText(`The token belongs to @${server.bot.username}.`).waitFor()
    assert.deepEqual(problems, [])
  })
})
