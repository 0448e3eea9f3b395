/** Places that are recognised without a geocoder, by kind, with Russian and English names. Not a complete gazetteer. */
export const placeTable = {
  city: `Москва=Moscow, Санкт-Петербург=Saint Petersburg=Питер=СПб=Петербург=St Petersburg=St. Petersburg, Новосибирск=Novosibirsk
Екатеринбург=Yekaterinburg=Екб, Казань=Kazan, Нижний Новгород=Nizhny Novgorod=Нижний, Красноярск=Krasnoyarsk, Челябинск=Chelyabinsk
Самара=Samara, Уфа=Ufa, Ростов-на-Дону=Rostov-on-Don=Ростов, Краснодар=Krasnodar, Омск=Omsk, Воронеж=Voronezh, Пермь=Perm
Волгоград=Volgograd, Саратов=Saratov, Тюмень=Tyumen, Тольятти=Tolyatti, Барнаул=Barnaul, Махачкала=Makhachkala, Ижевск=Izhevsk
Хабаровск=Khabarovsk, Ульяновск=Ulyanovsk, Иркутск=Irkutsk, Владивосток=Vladivostok, Ярославль=Yaroslavl, Севастополь=Sevastopol
Ставрополь=Stavropol, Томск=Tomsk, Кемерово=Kemerovo, Набережные Челны=Naberezhnye Chelny, Оренбург=Orenburg
Новокузнецк=Novokuznetsk, Балашиха=Balashikha, Рязань=Ryazan, Чебоксары=Cheboksary, Калининград=Kaliningrad, Пенза=Penza
Липецк=Lipetsk, Киров=Kirov, Астрахань=Astrakhan, Тула=Tula, Сочи=Sochi, Курск=Kursk, Улан-Удэ=Ulan-Ude, Сургут=Surgut
Тверь=Tver, Магнитогорск=Magnitogorsk, Иваново=Ivanovo, Брянск=Bryansk, Якутск=Yakutsk, Владимир=Vladimir, Симферополь=Simferopol
Белгород=Belgorod, Нижний Тагил=Nizhny Tagil, Чита=Chita, Калуга=Kaluga, Грозный=Grozny, Волжский=Volzhsky, Смоленск=Smolensk
Подольск=Podolsk, Саранск=Saransk, Вологда=Vologda, Курган=Kurgan, Череповец=Cherepovets, Орёл=Oryol, Архангельск=Arkhangelsk
Владикавказ=Vladikavkaz, Нижневартовск=Nizhnevartovsk, Йошкар-Ола=Yoshkar-Ola, Стерлитамак=Sterlitamak, Мурманск=Murmansk
Кострома=Kostroma, Новороссийск=Novorossiysk, Тамбов=Tambov, Химки=Khimki, Мытищи=Mytishchi, Нальчик=Nalchik, Таганрог=Taganrog
Нижнекамск=Nizhnekamsk, Благовещенск=Blagoveshchensk, Великий Новгород=Veliky Novgorod, Люберцы=Lyubertsy, Энгельс=Engels
Псков=Pskov, Бийск=Biysk, Старый Оскол=Stary Oskol, Прокопьевск=Prokopyevsk, Сыктывкар=Syktyvkar, Армавир=Armavir, Рыбинск=Rybinsk
Балаково=Balakovo, Королёв=Korolyov, Южно-Сахалинск=Yuzhno-Sakhalinsk, Петрозаводск=Petrozavodsk, Абакан=Abakan
Норильск=Norilsk, Северодвинск=Severodvinsk, Ангарск=Angarsk, Братск=Bratsk, Дзержинск=Dzerzhinsk, Альметьевск=Almetyevsk
Красногорск=Krasnogorsk, Одинцово=Odintsovo, Домодедово=Domodedovo, Зеленоград=Zelenograd, Обнинск=Obninsk, Анапа=Anapa
Геленджик=Gelendzhik, Адлер=Adler, Пятигорск=Pyatigorsk, Кисловодск=Kislovodsk, Ялта=Yalta, Ханты-Мансийск=Khanty-Mansiysk
Салехард=Salekhard, Магадан=Magadan, Находка=Nakhodka, Элиста=Elista, Майкоп=Maykop, Новочеркасск=Novocherkassk, Шахты=Shakhty
Миасс=Miass, Златоуст=Zlatoust, Серпухов=Serpukhov, Коломна=Kolomna, Электросталь=Elektrostal, Выборг=Vyborg, Гатчина=Gatchina
Сергиев Посад=Sergiyev Posad, Каменск-Уральский=Kamensk-Uralsky, Комсомольск-на-Амуре=Komsomolsk-on-Amur
Петропавловск-Камчатский=Petropavlovsk-Kamchatsky, Минск=Minsk, Гомель=Gomel, Брест=Brest, Гродно=Grodno, Витебск=Vitebsk
Могилёв=Mogilev, Алматы=Almaty=Алма-Ата, Астана=Astana, Шымкент=Shymkent, Караганда=Karaganda, Ташкент=Tashkent
Самарканд=Samarkand, Бишкек=Bishkek, Ереван=Yerevan, Тбилиси=Tbilisi, Батуми=Batumi, Баку=Baku, Киев=Kyiv=Kiev, Львов=Lviv
Одесса=Odesa=Odessa, Харьков=Kharkiv, Днепр=Dnipro, Кишинёв=Chisinau, Рига=Riga, Вильнюс=Vilnius, Таллин=Tallinn, Душанбе=Dushanbe
Лондон=London, Манчестер=Manchester, Бирмингем=Birmingham, Ливерпуль=Liverpool, Лидс=Leeds, Бристоль=Bristol, Глазго=Glasgow
Эдинбург=Edinburgh, Дублин=Dublin, Берлин=Berlin, Мюнхен=Munich=Muenchen=München, Гамбург=Hamburg, Франкфурт=Frankfurt, Кёльн=Cologne
Дюссельдорф=Düsseldorf=Dusseldorf, Штутгарт=Stuttgart, Лейпциг=Leipzig, Дрезден=Dresden, Вена=Vienna, Цюрих=Zurich=Zürich
Женева=Geneva, Париж=Paris, Лион=Lyon, Марсель=Marseille, Ницца=Nice, Мадрид=Madrid, Барселона=Barcelona, Валенсия=Valencia
Севилья=Seville, Малага=Malaga, Лиссабон=Lisbon, Порту=Porto, Рим=Rome, Милан=Milan, Неаполь=Naples, Турин=Turin, Флоренция=Florence
Амстердам=Amsterdam, Роттердам=Rotterdam, Утрехт=Utrecht, Гаага=The Hague, Брюссель=Brussels, Антверпен=Antwerp
Копенгаген=Copenhagen, Стокгольм=Stockholm, Осло=Oslo, Хельсинки=Helsinki, Варшава=Warsaw, Краков=Krakow=Kraków, Прага=Prague
Будапешт=Budapest, Бухарест=Bucharest, София=Sofia, Белград=Belgrade, Загреб=Zagreb, Афины=Athens, Стамбул=Istanbul
Анталья=Antalya=Анталия, Дубай=Dubai, Абу-Даби=Abu Dhabi, Тель-Авив=Tel Aviv, Нью-Йорк=New York=NYC=New York City, Лос-Анджелес=Los Angeles
Чикаго=Chicago, Хьюстон=Houston, Финикс=Phoenix, Филадельфия=Philadelphia, Сан-Антонио=San Antonio, Сан-Диего=San Diego
Даллас=Dallas, Остин=Austin, Сан-Франциско=San Francisco, Сиэтл=Seattle, Денвер=Denver, Бостон=Boston, Майами=Miami
Атланта=Atlanta, Портленд=Portland, Детройт=Detroit, Миннеаполис=Minneapolis, Орландо=Orlando, Лас-Вегас=Las Vegas
Торонто=Toronto, Ванкувер=Vancouver, Монреаль=Montreal=Montréal, Калгари=Calgary, Сидней=Sydney, Мельбурн=Melbourne
Брисбен=Brisbane, Перт=Perth, Окленд=Auckland, Токио=Tokyo, Сингапур=Singapore, Гонконг=Hong Kong, Бангкок=Bangkok, Пхукет=Phuket
Мумбаи=Mumbai, Дели=Delhi, Бангалор=Bangalore, Мехико=Mexico City, Сан-Паулу=São Paulo, Буэнос-Айрес=Buenos Aires`,
  region: `Подмосковье=Moscow Oblast, Татарстан=Tatarstan, Башкортостан=Bashkortostan=Башкирия, Крым=Crimea, Урал=Urals, Сибирь=Siberia
Поволжье=Volga region, Дальний Восток=Russian Far East, Кубань=Kuban, Алтай=Altai, Карелия=Karelia, Дагестан=Dagestan, Чечня=Chechnya
Якутия=Yakutia, Бурятия=Buryatia, Удмуртия=Udmurtia, Чувашия=Chuvashia, Мордовия=Mordovia, Хакасия=Khakassia, Байкал=Baikal
Ленобласть=Leningrad Oblast, Камчатка=Kamchatka, Сахалин=Sakhalin, Бавария=Bavaria, Каталония=Catalonia, Тоскана=Tuscany
Англия=England, Шотландия=Scotland, Уэльс=Wales, Калифорния=California=CA, Техас=Texas=TX, Флорида=Florida=FL, Орегон=Oregon
Иллинойс=Illinois=IL, Колорадо=Colorado, Огайо=Ohio=OH, Невада=Nevada, Аризона=Arizona=AZ, Мичиган=Michigan, Вирджиния=Virginia
Массачусетс=Massachusetts=MA, Нью-Джерси=New Jersey=NJ, Пенсильвания=Pennsylvania=PA, Миннесота=Minnesota, Юта=Utah, Айдахо=Idaho
Теннесси=Tennessee, Висконсин=Wisconsin, Миссури=Missouri, Индиана=Indiana, Мэриленд=Maryland, Северная Каролина=North Carolina
Монтана=Montana, Гавайи=Hawaii, Онтарио=Ontario, Квебек=Quebec, Альберта=Alberta, Британская Колумбия=British Columbia
Новый Южный Уэльс=New South Wales, Квинсленд=Queensland, Кент=Kent, Эссекс=Essex, Суррей=Surrey, Девон=Devon, Корнуолл=Cornwall
Йоркшир=Yorkshire, Большой Манчестер=Greater Manchester, Бали=Bali`,
  country: `Россия=Russia=РФ, Беларусь=Belarus=Белоруссия, Казахстан=Kazakhstan, Узбекистан=Uzbekistan, Киргизия=Kyrgyzstan=Кыргызстан
Таджикистан=Tajikistan, Армения=Armenia, Грузия=Georgia, Азербайджан=Azerbaijan, Украина=Ukraine, Молдова=Moldova=Молдавия
Латвия=Latvia, Литва=Lithuania, Эстония=Estonia, Великобритания=UK=United Kingdom=Great Britain=Britain, Ирландия=Ireland
Германия=Germany, Австрия=Austria, Швейцария=Switzerland, Франция=France, Испания=Spain, Португалия=Portugal, Италия=Italy
Нидерланды=Netherlands=Голландия=Holland, Бельгия=Belgium, Дания=Denmark, Швеция=Sweden, Норвегия=Norway, Финляндия=Finland
Польша=Poland, Чехия=Czech Republic=Czechia, Словакия=Slovakia, Венгрия=Hungary, Румыния=Romania, Болгария=Bulgaria, Сербия=Serbia
Хорватия=Croatia, Словения=Slovenia, Греция=Greece, Турция=Turkey, Кипр=Cyprus, Израиль=Israel, ОАЭ=UAE=United Arab Emirates
США=USA=US=United States=America, Канада=Canada, Мексика=Mexico, Бразилия=Brazil, Аргентина=Argentina, Австралия=Australia
Новая Зеландия=New Zealand, Япония=Japan, Китай=China, Индия=India, Таиланд=Thailand, Вьетнам=Vietnam, Индонезия=Indonesia
Малайзия=Malaysia, Филиппины=Philippines, Южная Корея=South Korea, Египет=Egypt, Черногория=Montenegro, Европа=Europe`,
}
