/** Kinds of businesses, second half: travel, leisure, schools, offices, crafts. Same format as niche-trade.ts. */
export const services = `
travel_agency: shop=travel_agency office=travel_agent
  travel agency, travel agent, tour operator, tour company / турагентство, туристическое агентство, турфирма, туроператор
  , турагент, туристическая фирма, туристическая компания
hotel: tourism=hotel
  hotel, boutique hotel / гостиница, отель
guest_house: tourism=guest_house tourism=apartment
  guest house, guesthouse, bed and breakfast, B&B, holiday apartment / гостевой дом, мини-отель, апартаменты
  , мини-гостиница
hostel: tourism=hostel
  hostel / хостел
motel: tourism=motel
  motel / мотель
resort: leisure=resort tourism=chalet tourism=camp_site
  resort, holiday park, campsite, glamping / база отдыха, турбаза, санаторий, глэмпинг, кемпинг, загородный отель
  , пансионат
museum: tourism=museum
  museum / музей
theatre: amenity=theatre
  theatre, theater / театр
cinema: amenity=cinema
  cinema, movie theater / кинотеатр
zoo: tourism=zoo tourism=aquarium
  zoo, aquarium, petting zoo / зоопарк, контактный зоопарк, океанариум
gym: leisure=fitness_centre
  gym, fitness centre, fitness center, fitness club, health club, fitness studio, crossfit gym
  / фитнес-клуб, тренажерный зал, фитнес, фитнес-центр, фитнес клуб, спортзал, фитнес-студия, фитнес-зал
yoga: sport=yoga
  yoga studio, pilates studio, yoga centre, yoga center / студия йоги, йога-студия, йога, студия пилатеса, йога-центр
dance: leisure=dance amenity=dancing_school
  dance school, dance studio, dancing school / школа танцев, студия танцев, танцевальная студия, танцевальная школа
martial_arts: sport=martial_arts sport=boxing sport=karate
  martial arts school, boxing gym, boxing club, karate school / боксерский клуб, школа единоборств, секция карате
swimming_pool: leisure=swimming_pool sport=swimming
  swimming pool, swimming school, aquatic centre, aquatic center / бассейн, школа плавания
sports_centre: leisure=sports_centre
  sports centre, sports center, sports club, sports complex, leisure centre / спортивный клуб, спортивный комплекс
  , спорткомплекс, спортивная школа, спортклуб, спортивный центр
tennis: sport=tennis sport=padel
  tennis club, tennis court, padel club / теннисный клуб, теннисный корт
golf: leisure=golf_course
  golf club, golf course / гольф-клуб
climbing: sport=climbing
  climbing gym, climbing wall, bouldering gym / скалодром
bowling: leisure=bowling_alley
  bowling alley, bowling / боулинг, бильярд, боулинг-клуб
amusement: leisure=amusement_arcade leisure=trampoline_park tourism=theme_park leisure=indoor_play
  amusement park, trampoline park, arcade, indoor playground, theme park, water park, play centre
  / парк развлечений, батутный центр, детский развлекательный центр, аквапарк, игровая комната, батутный парк
  , развлекательный центр, парк аттракционов
escape_game: leisure=escape_game
  escape room, escape game / квест, квест-комната, квеструм, квесты
sauna: leisure=sauna
  sauna, bathhouse, banya / сауна, баня, банный комплекс, русская баня
kindergarten: amenity=kindergarten amenity=childcare
  kindergarten, nursery, daycare, preschool, day care, nursery school, daycare center, childcare centre
  / детский сад, частный сад, ясли, детсад, частный детский сад, частный садик, детский садик
school: amenity=school
  school, private school / школа, частная школа, гимназия, лицей
university: amenity=university amenity=college
  university, college / университет, институт, колледж, вуз, техникум
language_school: amenity=language_school
  language school, english school / языковая школа, школа английского, курсы английского, школа иностранных языков
  , школа английского языка, языковые курсы, языковой центр
music_school: amenity=music_school
  music school, music lessons, guitar school / музыкальная школа, школа вокала, школа музыки, студия вокала
training: amenity=training office=educational_institution
  training centre, training center, tutoring centre, tutoring center, coding school, tutor, education centre
  / учебный центр, образовательный центр, репетитор, курсы, школа программирования, центр развития
  , репетиторский центр
child_centre: amenity=kids_area leisure=child_centre community_centre=children_centre
  children's centre, kids club, kids centre, child development centre
  / детский центр, детский клуб, центр развития ребенка, детский развивающий центр, центр детского развития
art_school: amenity=art_school school=art
  art school, art studio, drawing school / художественная школа, школа рисования, арт-студия, художественная студия
lawyer: office=lawyer
  lawyer, law firm, attorney, solicitor, law office, legal services, barrister
  / юрист, юридическая компания, адвокат, юридическая фирма, юридические услуги, адвокатское бюро, юридическое агентство
  , адвокатская контора, юридическая консультация
notary: office=notary
  notary, notary public, notary office / нотариус, нотариальная контора
accountant: office=accountant office=tax_advisor
  accountant, accounting firm, tax advisor, bookkeeper, tax consultant, CPA, CPA firm, bookkeeping service
  / бухгалтерские услуги, бухгалтер, бухгалтерская компания, аудитор, налоговый консультант, аудиторская компания
  , бухгалтерская фирма, бухгалтерский аутсорсинг
insurance: office=insurance
  insurance agency, insurance broker, insurance company, insurance agent / страховая компания, страховой агент
  , страховой брокер, страхование, страховое агентство
bank: amenity=bank
  bank, credit union / банк
financial: office=financial office=financial_advisor
  financial advisor, financial adviser, mortgage broker, investment company, wealth manager
  / финансовый консультант, кредитный брокер, ипотечный брокер, инвестиционная компания
pawnbroker: shop=pawnbroker shop=money_lender
  pawnshop, pawn shop, pawnbroker, payday lender / ломбард, микрозаймы, мфо
estate_agent: office=estate_agent
  real estate agency, estate agent, realtor, real estate agent, property agent, property manager, letting agent
  , real estate company, property management company
  / агентство недвижимости, риелтор, риэлтор, недвижимость, риелторское агентство, риэлторское агентство
developer: office=property_developer office=construction_company
  property developer, real estate developer, home builder / застройщик, девелопер
construction: office=construction_company craft=builder
  construction company, builder, general contractor, building contractor, building company, contractor
  / строительная компания, строительная фирма, строительство домов, строительная организация, подрядчик
  , строительство, стройка
renovation: craft=builder craft=plasterer craft=painter
  renovation company, painter, house painter, home renovation, remodeling contractor, decorator, painting contractor
  / ремонт квартир, отделка, отделочные работы, компания по ремонту квартир, ремонтная бригада, ремонт офисов
architect: office=architect
  architect, architecture firm, architectural firm, architecture studio, architectural practice
  / архитектурное бюро, архитектор, проектное бюро, архитектурная мастерская, проектная организация
engineer: office=engineer
  engineering firm, engineering company, engineering consultancy / инженерная компания, проектный институт
surveyor: office=surveyor
  surveyor, land surveyor / кадастровый инженер, геодезическая компания, межевание, геодезия
plumber: craft=plumber
  plumber, plumbing company, plumbing contractor, plumbing service / сантехник, услуги сантехника, сантехнические работы
electrician: craft=electrician
  electrician, electrical contractor / электрик, электромонтаж, услуги электрика, электромонтажные работы
hvac: craft=hvac craft=heating_engineer
  HVAC company, HVAC contractor, HVAC, heating engineer, air conditioning company, HVAC installer
  / установка кондиционеров, кондиционеры, вентиляция, климатическая компания, монтаж кондиционеров
roofer: craft=roofer
  roofer, roofing company, roofing contractor / кровельные работы, кровля, кровельная компания
locksmith: craft=locksmith shop=locksmith craft=key_cutter
  locksmith, key cutting / вскрытие замков, изготовление ключей, слесарь
solar: craft=solar_installer
  solar installer, solar company, solar panel installer / солнечные панели, солнечные батареи
metal: craft=metal_construction craft=blacksmith craft=welder
  welder, blacksmith, metal fabrication, metal fabricator, welding shop / металлоконструкции, сварка, кузница
  , металлообработка, кованые изделия
stonemason: craft=stonemason
  stonemason, stone works / изделия из камня, камнеобработка
funeral: shop=funeral_directors
  funeral home, funeral director, undertaker, funeral parlour / ритуальное агентство, ритуальные услуги, похоронное бюро
  , ритуальное бюро
laundry: shop=laundry
  laundry, launderette, laundromat / прачечная
dry_cleaning: shop=dry_cleaning
  dry cleaner, dry cleaning / химчистка
cleaning: office=cleaning craft=cleaning
  cleaning company, cleaning service, janitorial service, cleaner, maid service, commercial cleaning company
  / клининг, клининговая компания, уборка, клининговая фирма, уборка помещений, уборка квартир
pest_control: craft=pest_control office=pest_control
  pest control, pest control company, exterminator / дезинсекция, служба дезинфекции, дезинфекция, санитарная служба
tailor: craft=tailor craft=dressmaker shop=tailor
  tailor, dressmaker, alterations shop / ателье, пошив одежды, портной, швейная мастерская, ремонт одежды
sewing: craft=clothes_maker industrial=textile man_made=works
  garment factory, clothing manufacturer, textile factory / швейное производство, швейная фабрика, швейный цех
shoe_repair: craft=shoemaker shop=shoe_repair
  shoe repair, cobbler, shoemaker / ремонт обуви, сапожник
photo: craft=photographer shop=photo
  photographer, photo studio, photography studio, wedding photographer / фотостудия, фотограф, фотосалон, фотоуслуги
print: shop=copyshop craft=printer office=printer
  print shop, printing company, copy shop, printer, printing house / типография, полиграфия, копицентр, печать
  , копировальный центр
sign: craft=signmaker
  sign maker, sign shop, signage company / наружная реклама, изготовление вывесок, вывески
advertising: office=advertising_agency
  advertising agency, marketing agency, digital agency, ad agency, SEO agency, creative agency, PR agency
  / рекламное агентство, маркетинговое агентство, диджитал-агентство, digital-агентство, реклама, рекламная компания
  , креативное агентство
it: office=it
  IT company, software company, web studio, software house, web design agency, web agency, software developer, web designer
  , software development company, IT firm, IT services company
  / айти компания, it компания, it-компания, веб-студия, разработка сайтов, разработка по, разработчик по, айти-компания
  , разработка программного обеспечения, студия разработки
telecom: office=telecommunication
  telecom company, internet provider, internet service provider, ISP / интернет-провайдер, провайдер, оператор связи
recruitment: office=employment_agency
  recruitment agency, staffing agency, employment agency, recruiter, recruiting agency, headhunter
  / кадровое агентство, рекрутинговое агентство, агентство по подбору персонала, подбор персонала
consulting: office=consulting
  consulting company, consultancy, consulting firm, management consultant / консалтинг, консалтинговая компания
security: office=security
  security company, security guard company, alarm company / охранное агентство, охранная компания, ЧОП, охрана
  , охранное предприятие, частная охрана
translation: office=translator
  translation agency, translator, translation bureau / бюро переводов, переводчик, агентство переводов
events: office=event_management shop=party
  event agency, event planner, wedding planner, event company, event management company, party supply store
  / ивент-агентство, event-агентство, организация мероприятий, организация праздников, праздничное агентство
  , свадебное агентство, аниматор
events_venue: amenity=events_venue amenity=conference_centre
  event venue, wedding venue, banquet hall, conference centre, conference center, function room
  / банкетный зал, конференц-зал, площадка для мероприятий, лофт
coworking: amenity=coworking_space office=coworking
  coworking, coworking space, co-working space, shared office / коворкинг, коворкинг-центр
business_centre: office=serviced_office building=office
  business centre, business center, office building / бизнес-центр, деловой центр, офисный центр
mall: shop=mall
  shopping mall, shopping centre, shopping center, mall / торговый центр, торгово-развлекательный центр, трц, тц
logistics: office=logistics office=moving_company shop=storage_rental
  logistics company, freight forwarder, trucking company, haulage company, freight company, transport company
  / логистическая компания, транспортная компания, грузоперевозки, экспедитор, грузовые перевозки, логистика
moving: office=moving_company
  moving company, removal company, mover, removals / грузчики, квартирные переезды, офисные переезды, переезд
storage: shop=storage_rental landuse=warehouse building=warehouse
  self storage, storage facility, warehouse / склад, складские услуги, аренда склада, фулфилмент
courier: office=courier amenity=post_office
  courier service, courier company, delivery company, courier / курьерская служба, служба доставки, курьерская доставка
rental: shop=rental
  equipment rental, tool hire, tool rental, equipment hire, party rental / прокат инструмента, аренда спецтехники
  , аренда оборудования, прокат
wholesale: shop=wholesale
  wholesaler, wholesale company, distributor, supplier / оптовая компания, опт, оптовик, дистрибьютор, поставщик
  , оптовая база, оптовый склад
factory: man_made=works industrial=factory
  factory, manufacturer, manufacturing company, plant / завод, производство, фабрика, производитель, комбинат
  , производственная компания
farm: landuse=farmland place=farm shop=farm
  farm, dairy farm, farm shop / ферма, фермерское хозяйство, агрофирма, крестьянское хозяйство, агрохолдинг
recycling: amenity=recycling industrial=scrap_yard
  recycling company, scrap yard, recycling centre, waste management company / пункт приема металлолома, металлолом
  , вывоз мусора, утилизация отходов, прием макулатуры
`
