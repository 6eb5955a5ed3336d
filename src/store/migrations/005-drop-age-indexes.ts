/**
 * Messages and replies are numbered in the order of time, so the oldest have the lowest numbers. The indexes by age were
 * written with each row and read only once a day.
 */
export const dropAgeIndexes = `
drop index inbox_by_age;
drop index outbox_by_age;
`
